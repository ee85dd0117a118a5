import type { EmbeddedEngine } from "../engines/embedded-engine.ts";
import { quoteIdentifier } from "../sql/quote.ts";
import { statement, textValue } from "../sql/statement.ts";
import type { CacheName } from "./cache.ts";
import { foldName, tableIn } from "./store-names.ts";
import { columnsIfExists, databaseMessage, inReadTransaction, inTransaction, type Run } from "./store-sql.ts";

/** The cache database is not a cache, is damaged, or is from another version of Eider. */
export class ForeignCacheError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ForeignCacheError";
  }
}

/** The schema of the audit tables. */
const AUDIT = "audit";

/** The version of the audit tables. */
const VERSION = "1";

/** Uses only what DuckLake also supports: no keys, sequences or indexes. Times are in UTC. */
const TABLES = {
  layout: ["version VARCHAR"],
  refreshes: [
    "schema_name VARCHAR",
    "table_name VARCHAR",
    "mode VARCHAR",
    "status VARCHAR",
    "message VARCHAR",
    "rows BIGINT",
    "snapshot BIGINT",
    "started TIMESTAMP",
    "duration_ms BIGINT",
  ],
  snapshots: [
    "schema_name VARCHAR",
    "table_name VARCHAR",
    "snapshot_id BIGINT",
    "uid VARCHAR",
    "physical_table VARCHAR",
    "created_at TIMESTAMP",
    "rows BIGINT",
    "bytes BIGINT",
    "definition VARCHAR",
  ],
  stale_marks: ["schema_name VARCHAR", "table_name VARCHAR", "uid VARCHAR", "action VARCHAR", "since TIMESTAMP"],
} as const;

/** The columns of `audit.refreshes`, each with its type. */
export const refreshColumns: readonly string[] = TABLES.refreshes;

type AuditTable = keyof typeof TABLES;

// The keys of the object above.
const NAMES = Object.keys(TABLES) as readonly AuditTable[];

/** Tables that caches of earlier versions lack. */
const ADDED_LATER: ReadonlySet<AuditTable> = new Set(["stale_marks"]);

/** The quoted name of an audit table. */
export function auditTable(catalog: string, table: AuditTable): string {
  return tableIn(catalog, AUDIT, table);
}

/** Whether a cache of this name would collide with an audit table. */
export function isAuditTable({ schema, table }: CacheName): boolean {
  return foldName(schema) === AUDIT && NAMES.some((name) => name === foldName(table));
}

/** Creates the audit tables if missing, and checks existing ones. Rejects with a ForeignCacheError. */
export async function openLayout(engine: EmbeddedEngine, catalog: string): Promise<void> {
  if ((await inReadTransaction(engine, (run) => missingTables(run, catalog))).length === 0) return;
  await inTransaction(engine, NAMES, async (run) => {
    // Another process may have created them meanwhile.
    const missing = await missingTables(run, catalog);
    if (missing.length === 0) return;
    await run(statement(`CREATE SCHEMA IF NOT EXISTS ${quoteIdentifier(catalog)}.${quoteIdentifier(AUDIT)}`));
    for (const table of missing) {
      await run(statement(`CREATE TABLE ${auditTable(catalog, table)} (${TABLES[table].join(", ")})`));
    }
    if (!missing.includes("layout")) return;
    await run(statement(`INSERT INTO ${auditTable(catalog, "layout")} VALUES ($1)`, textValue(VERSION)));
  });
}

/** Returns all tables, or only those that were added later. Rejects with a ForeignCacheError. */
async function missingTables(run: Run, catalog: string): Promise<readonly AuditTable[]> {
  const found: AuditTable[] = [];
  for (const table of NAMES) {
    const columns = await withForeignErrors(columnsIfExists(run, auditTable(catalog, table)));
    if (columns === undefined) continue;
    found.push(table);
    const shape = columns.map(({ name, type }) => `${name} ${type}`);
    if (shape.join() !== TABLES[table].join()) {
      throw new ForeignCacheError(`its table ${AUDIT}.${table} has other columns than ours: ${shape.join(", ")}`);
    }
  }
  const missing = NAMES.filter((table) => !found.includes(table));
  if (found.length === 0) return missing;
  const needed = missing.find((table) => !ADDED_LATER.has(table));
  if (needed !== undefined) throw new ForeignCacheError(`it has ${AUDIT}.${found[0]}, but no ${AUDIT}.${needed}`);
  const rows = await withForeignErrors(run(statement(`SELECT version FROM ${auditTable(catalog, "layout")}`)));
  const versions = rows.map(([version]) => version ?? "NULL").join(", ");
  if (versions === VERSION) return missing;
  throw new ForeignCacheError(`its layout is of version ${versions || "none"}, ours is ${VERSION}`);
}

/** Turns a database error into a ForeignCacheError. */
async function withForeignErrors<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const message = databaseMessage(error);
    if (message === undefined) throw error;
    throw new ForeignCacheError(`it cannot be read: ${message}`, { cause: error });
  }
}
