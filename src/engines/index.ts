import { connectionTypes } from "./duckdb/connections/index.ts";
import { duckdbDialect } from "./duckdb/dialect.ts";
import { findExtensions } from "./duckdb/extensions/find-extensions.ts";
import { neededExtensions } from "./duckdb/extensions/needed-extensions.ts";
import { isLost } from "./duckdb/messages.ts";
import { openDuckDb } from "./duckdb/open-duckdb.ts";
import { openRemoteFiles } from "./duckdb/remote/remote-files.ts";
import type { EmbeddedEngineType } from "./embedded-engine.ts";

/** The embedded engine. To add another, create a folder for it and turn this export into a list. */
export const engine: EmbeddedEngineType = {
  dialect: duckdbDialect,
  connectionTypes,
  isLost,
  open: openDuckDb,
  openRemoteFiles,
  neededExtensions,
  findExtensions,
};
