import duckdb from "@duckdb/node-bindings";
import { loadChunk } from "../../src/engines/duckdb/load/load-vectors.ts";
import { resultColumns } from "../../src/engines/duckdb/load/logical-type.ts";
import type { Frame } from "../../src/formats/format.ts";
import { json } from "../../src/formats/json/json.ts";

/** A database in memory whose results come back as JSON text, by the loader and the writer alone. */
export interface JsonDatabase {
  run(sql: string): Promise<void>;
  /** The whole document, from a materialized result. */
  json(sql: string, frame?: Frame): Promise<string>;
  /** The same from a stream, whose vectors come straight out of the query's operators. */
  streamedJson(sql: string): Promise<string>;
  /** The rows without the brackets, as text: `{"x":1}`. */
  row(sql: string): Promise<string>;
  /** The first column of every row as the text that DuckDB makes of it. */
  texts(sql: string): Promise<(string | null)[]>;
}

export async function openJsonDatabase(): Promise<JsonDatabase> {
  const connection = await duckdb.connect(await duckdb.open(":memory:"));

  async function encode(result: duckdb.Result, frame: Frame): Promise<string> {
    const columns = resultColumns(result);
    const encoder = json.open(columns, frame);
    const parts: Uint8Array[] = [];
    for (;;) {
      const chunk = await duckdb.fetch_chunk(result);
      if (chunk === null || duckdb.data_chunk_get_size(chunk) === 0) break;
      parts.push(encoder.encode(loadChunk(chunk, columns)));
    }
    parts.push(encoder.end());
    return Buffer.concat(parts).toString();
  }

  const database: JsonDatabase = {
    async run(sql) {
      await duckdb.query(connection, sql);
    },
    async json(sql, frame = { kind: "rows" }) {
      return encode(await duckdb.query(connection, sql), frame);
    },
    async streamedJson(sql) {
      const statement = await duckdb.prepare(connection, sql);
      return encode(await duckdb.execute_prepared_streaming(statement), { kind: "rows" });
    },
    async row(sql) {
      return (await database.json(sql)).slice(1, -1);
    },
    async texts(sql) {
      const rows: unknown = JSON.parse(await database.json(`SELECT CAST(COLUMNS(*) AS VARCHAR) AS text FROM (${sql})`));
      // The query above has one column of texts.
      return (rows as { text: string | null }[]).map((row) => row.text);
    },
  };
  return database;
}
