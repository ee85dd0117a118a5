import duckdb from "@duckdb/node-bindings";
import type { Cancellation } from "../../queue/cancellation.ts";

/** DuckDB forgets an interrupt that arrives before the query has started on its thread, so it is repeated. */
export const INTERRUPT_INTERVAL_MS = 5;

/**
 * Runs a native call, and interrupts it on cancellation. Settles only after the call has settled, so that an
 * interrupt never hits the next user of the connection.
 */
export async function interruptible<T>(
  connection: duckdb.Connection,
  cancellation: Cancellation,
  call: () => Promise<T>,
): Promise<T> {
  const stopInterrupting = interruptOnCancel(connection, cancellation);
  try {
    return await call();
  } finally {
    stopInterrupting();
    // The reason of a cancellation replaces the result, or DuckDB's error.
    cancellation.check();
  }
}

/** Interrupts native calls on a connection when cancelled, until the returned function is called. Throws if already cancelled. */
export function interruptOnCancel(connection: duckdb.Connection, cancellation: Cancellation): () => void {
  cancellation.check();
  let repeat: NodeJS.Timeout | undefined;
  cancellation.listen(() => {
    duckdb.interrupt(connection);
    repeat = setInterval(() => duckdb.interrupt(connection), INTERRUPT_INTERVAL_MS);
  });
  return () => {
    cancellation.listen(undefined);
    clearInterval(repeat);
  };
}
