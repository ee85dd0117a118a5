import type { Dialect } from "../sql/dialect.ts";
import { connectionTypes } from "./duckdb/connections/index.ts";
import { isLocked } from "./duckdb/database/locked-files.ts";
import { duckdbDialect } from "./duckdb/dialect.ts";
import { findExtensions } from "./duckdb/extensions/find-extensions.ts";
import { neededExtensions } from "./duckdb/extensions/needed-extensions.ts";
import { isLost } from "./duckdb/messages.ts";
import { openDuckDb } from "./duckdb/open-duckdb.ts";
import { openRemoteFiles } from "./duckdb/remote/remote-files.ts";
import type { EmbeddedEngineType } from "./embedded-engine.ts";
import { postgresEngine } from "./postgres/postgres.ts";
import type { RemoteEngineType } from "./remote-engine.ts";

/** Engines on other machines, by `connections.<name>.engine`. To add one, create a folder for it and add it here. */
export const remoteEngines: readonly RemoteEngineType[] = [postgresEngine];

/** The dialect of an engine on another machine, or of the embedded engine. */
export function dialectOf(engineName: string | undefined): Dialect {
  return remoteEngines.find(({ name }) => name === engineName)?.dialect ?? duckdbDialect;
}

/** The embedded engine. */
export const engine: EmbeddedEngineType = {
  dialect: duckdbDialect,
  connectionTypes,
  isLost,
  isLocked,
  open: openDuckDb,
  openRemoteFiles,
  neededExtensions,
  findExtensions,
};
