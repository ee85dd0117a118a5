import { DuckDBInstance } from "@duckdb/node-api";

/** What a DuckDB of its own reads from a Parquet file: names, types, and the values as DuckDB's text. */
export async function readParquet(path: string) {
  const [columns = [], rows = []] = await read(path, ["DESCRIBE FROM $file", "SELECT COLUMNS(*)::VARCHAR FROM $file"]);
  return { names: columns.map(([name]) => name), types: columns.map(([, type]) => type), rows };
}

/** The number of different rows that it reads, where there are too many to look at. */
export async function countParquet(path: string) {
  const [[row] = []] = await read(path, ["SELECT count(*) FROM (SELECT DISTINCT * FROM $file)"]);
  return row?.[0];
}

/** The rows of each statement. */
async function read(path: string, statements: readonly string[]) {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  const file = `read_parquet('${path.replaceAll("'", "''")}')`;
  const results = [];
  for (const sql of statements) {
    results.push((await connection.runAndReadAll(sql.replace("$file", () => file))).getRowsJson());
  }
  instance.closeSync();
  return results;
}
