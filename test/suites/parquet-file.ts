import { DuckDBInstance } from "@duckdb/node-api";

/** What a DuckDB of its own reads from a Parquet file: names, types, and the values as DuckDB's text. */
export async function readParquet(path: string) {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  const all = async (sql: string) => (await connection.runAndReadAll(sql)).getRowsJson();
  const from = `read_parquet('${path.replaceAll("'", "''")}')`;
  const columns = await all(`DESCRIBE FROM ${from}`);
  const rows = await all(`SELECT COLUMNS(*)::VARCHAR FROM ${from}`);
  instance.closeSync();
  return { names: columns.map(([name]) => name), types: columns.map(([, type]) => type), rows };
}
