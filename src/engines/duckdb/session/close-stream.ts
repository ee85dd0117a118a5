import duckdb from "@duckdb/node-bindings";
import { INTERRUPT_INTERVAL_MS } from "./interrupt.ts";

/**
 * Ends a streamed result before its last row. Otherwise it would keep the database open until garbage collection, even after the
 * connection and the database were closed: the bindings have no call that frees a result. Ends the transaction too.
 */
export async function closeStream(connection: duckdb.Connection, result: duckdb.Result): Promise<void> {
  duckdb.interrupt(connection);
  const repeat = setInterval(() => duckdb.interrupt(connection), INTERRUPT_INTERVAL_MS);
  try {
    for (let chunk = await duckdb.fetch_chunk(result); hasRows(chunk); ) chunk = await duckdb.fetch_chunk(result);
  } catch {
    // Interrupted, as intended.
  } finally {
    clearInterval(repeat);
  }
}

/** The end of a stream is null or an empty chunk. */
export function hasRows(chunk: duckdb.DataChunk | null): chunk is duckdb.DataChunk {
  return chunk !== null && duckdb.data_chunk_get_size(chunk) > 0;
}
