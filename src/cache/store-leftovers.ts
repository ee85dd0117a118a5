import type { EmbeddedEngine } from "../engines/embedded-engine.ts";
import { statement, textValue } from "../sql/statement.ts";
import { foldName, isCacheTable, tableIn } from "./store-names.ts";
import { allSnapshots, deleteSnapshot } from "./store-records.ts";
import { inReadTransaction, inTransaction, type Run } from "./store-sql.ts";

interface Leftovers {
  /** Tables of caches that no snapshot uses. */
  readonly tables: readonly { readonly schema: string; readonly table: string }[];
  /** Snapshots whose table is gone. */
  readonly uids: readonly string[];
}

/**
 * Drops tables of caches that no snapshot uses: results of an earlier process, and what other SQL in the cache database
 * has left behind. Deletes the records of snapshots whose table is gone.
 */
export async function clearLeftovers(engine: EmbeddedEngine, catalog: string): Promise<void> {
  const { tables, uids } = await inReadTransaction(engine, (run) => findLeftovers(run, catalog));
  if (tables.length === 0 && uids.length === 0) return;
  const touches = ["snapshots", ...tables.map(({ table }) => table)];
  await inTransaction(engine, touches, async (run) => {
    for (const { schema, table } of tables) {
      await run(statement(`DROP TABLE IF EXISTS ${tableIn(catalog, schema, table)}`));
    }
    for (const uid of uids) await run(deleteSnapshot(catalog, uid));
  });
}

async function findLeftovers(run: Run, catalog: string): Promise<Leftovers> {
  const snapshots = await allSnapshots(run, catalog);
  const rows = await run(
    statement("SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = $1", textValue(catalog)),
  );
  const tables = rows.map(([schema, table]) => ({ schema: schema ?? "", table: table ?? "" }));
  const existing = new Set(tables.map(({ schema, table }) => key(schema, table)));
  const used = new Set(snapshots.map(({ name, physicalTable }) => key(name.schema, physicalTable)));
  return {
    tables: tables.filter(({ schema, table }) => isCacheTable(table) && !used.has(key(schema, table))),
    uids: snapshots
      .filter(({ name, physicalTable }) => !existing.has(key(name.schema, physicalTable)))
      .map(({ uid }) => uid),
  };
}

function key(schema: string, table: string): string {
  return JSON.stringify([foldName(schema), foldName(table)]);
}
