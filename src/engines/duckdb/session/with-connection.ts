import duckdb from "@duckdb/node-bindings";

/** Runs work on its own connection, outside the pool. */
export async function withConnection<T>(
  database: duckdb.Database,
  work: (connection: duckdb.Connection) => Promise<T>,
): Promise<T> {
  const connection = await duckdb.connect(database);
  try {
    return await work(connection);
  } finally {
    duckdb.disconnect_sync(connection);
  }
}
