import type { Engine } from "../engines/engine.ts";
import { quoteIdentifier } from "../sql/quote.ts";
import { statement, textValue } from "../sql/statement.ts";
import type { CacheName } from "./cache.ts";
import { foldName, tableIn } from "./store-names.ts";
import { columnsIfExists, databaseMessage, inReadTransaction, inTransaction, type Run } from "./store-sql.ts";

/** The cache database is not a cache, or is from another version of Eider. Its file can be renamed. */
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

/** Only what DuckLake supports too: no keys, sequences or indexes. Times are in UTC. */
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
} as const;

/** The columns of `audit.refreshes`, each with its type. */
export const refreshColumns: readonly string[] = TABLES.refreshes;

type AuditTable = keyof typeof TABLES;

// The keys of the object above.
const NAMES = Object.keys(TABLES) as readonly AuditTable[];

/** An audit table in SQL. */
export function auditTable(catalog: string, table: AuditTable): string {
  return tableIn(catalog, AUDIT, table);
}

/** Whether a cache of this name would be an audit table. */
export function isAuditTable({ schema, table }: CacheName): boolean {
  return foldName(schema) === AUDIT && NAMES.some((name) => name === foldName(table));
}

/** Creates the audit tables if missing, and checks existing ones. Rejects with a ForeignCacheError. */
export async function openLayout(engine: Engine, catalog: string): Promise<void> {
  if (await inReadTransaction(engine, (run) => hasAuditTables(run, catalog))) return;
  await inTransaction(engine, NAMES, async (run) => {
    // Another process may have created them meanwhile.
    if (await hasAuditTables(run, catalog)) return;
    await run(statement(`CREATE SCHEMA IF NOT EXISTS ${quoteIdentifier(catalog)}.${quoteIdentifier(AUDIT)}`));
    for (const table of NAMES) {
      await run(statement(`CREATE TABLE ${auditTable(catalog, table)} (${TABLES[table].join(", ")})`));
    }
    await run(statement(`INSERT INTO ${auditTable(catalog, "layout")} VALUES ($1)`, textValue(VERSION)));
  });
}

async function hasAuditTables(run: Run, catalog: string): Promise<boolean> {
  const found: AuditTable[] = [];
  for (const table of NAMES) {
    const columns = await orForeign(columnsIfExists(run, auditTable(catalog, table)));
    if (columns === undefined) continue;
    found.push(table);
    const shape = columns.map(({ name, type }) => `${name} ${type}`);
    if (shape.join() !== TABLES[table].join()) {
      throw new ForeignCacheError(`its table ${AUDIT}.${table} has other columns than ours: ${shape.join(", ")}`);
    }
  }
  if (found.length === 0) return false;
  const missing = NAMES.find((table) => !found.includes(table));
  if (missing !== undefined) throw new ForeignCacheError(`it has ${AUDIT}.${found[0]}, but no ${AUDIT}.${missing}`);
  const rows = await orForeign(run(statement(`SELECT version FROM ${auditTable(catalog, "layout")}`)));
  const versions = rows.map(([version]) => version ?? "NULL").join(", ");
  if (versions === VERSION) return true;
  throw new ForeignCacheError(`its layout is of version ${versions || "none"}, ours is ${VERSION}`);
}

/** Turns a database error into a ForeignCacheError. */
async function orForeign<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const message = databaseMessage(error);
    if (message === undefined) throw error;
    throw new ForeignCacheError(`it cannot be read: ${message}`, { cause: error });
  }
}
