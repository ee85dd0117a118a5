import { connectionTypes } from "./duckdb/connections/index.ts";
import { duckdbDialect } from "./duckdb/dialect.ts";
import { isLost } from "./duckdb/messages.ts";
import { openDuckDb } from "./duckdb/open-duckdb.ts";
import type { EngineType } from "./engine.ts";

/** The embedded engine. A second one gets its folder, and this file becomes the list of both. */
export const engine: EngineType = { dialect: duckdbDialect, connectionTypes, isLost, open: openDuckDb };
