import type { EmbeddedEngine } from "../engines/embedded-engine.ts";
import { quoteIdentifier } from "../sql/quote.ts";
import { statement, textValue } from "../sql/statement.ts";
import { inReadTransaction, inTransaction } from "./store-sql.ts";

/** Counts dropped or replaced rows, and reclaims their space when there are many. Never rejects. */
export type ReclaimSpace = (rows: number) => Promise<void>;

/** Where the tables of a catalog are. */
export type Storage = "duckdb-file" | "ducklake" | "memory";

export async function storageOf(engine: EmbeddedEngine, catalog: string): Promise<Storage> {
  const sql = "SELECT type, path FROM duckdb_databases() WHERE database_name = $1";
  const [[type, path] = []] = await inReadTransaction(engine, (run) => run(statement(sql, textValue(catalog))));
  if (type === "ducklake") return "ducklake";
  return type === "duckdb" && typeof path === "string" ? "duckdb-file" : "memory";
}

/** Smaller tables go through the write-ahead log, which triggers checkpoints itself. */
const ROWS_BETWEEN_CHECKPOINTS = 122_880;

/**
 * DuckDB reuses the space of dropped tables after a checkpoint, which it makes when its log is long. Large tables add
 * little to the log: without an explicit checkpoint the file would grow with each of them.
 */
export function openSpaceReclaimer(engine: EmbeddedEngine, catalog: string, storage: Storage): ReclaimSpace {
  if (storage !== "duckdb-file") return () => Promise.resolve();
  let unreclaimed = 0;
  return async (rows) => {
    unreclaimed += rows;
    if (unreclaimed < ROWS_BETWEEN_CHECKPOINTS) return;
    const before = unreclaimed;
    unreclaimed = 0;
    const checkpoint = statement(`CHECKPOINT ${quoteIdentifier(catalog)}`);
    await inTransaction(engine, [], (run) => run(checkpoint)).catch(() => {
      // Another transaction prevents it now: the next call retries.
      unreclaimed += before;
    });
  };
}
