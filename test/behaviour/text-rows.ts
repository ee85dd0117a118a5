import duckdb from "@duckdb/node-bindings";
import { loadChunk } from "../../src/engines/duckdb/load/load-vectors.ts";
import { resultColumns } from "../../src/engines/duckdb/load/logical-type.ts";
import type { RowFormat } from "../../src/formats/format.ts";

/** A database in memory whose results come back as text in any format, by the loader and the writer alone. */
export interface TextDatabase {
  run(sql: string): Promise<void>;
  text(format: RowFormat, sql: string): Promise<string>;
}

export async function openTextDatabase(): Promise<TextDatabase> {
  const connection = await duckdb.connect(await duckdb.open(":memory:"));
  return {
    async run(sql) {
      await duckdb.query(connection, sql);
    },
    async text(format, sql) {
      const result = await duckdb.query(connection, sql);
      const columns = resultColumns(result);
      const encoder = format.open(columns, { kind: "rows" });
      const parts: Uint8Array[] = [];
      for (;;) {
        const chunk = await duckdb.fetch_chunk(result);
        if (chunk === null || duckdb.data_chunk_get_size(chunk) === 0) break;
        parts.push(encoder.encode(loadChunk(chunk, columns)));
      }
      return Buffer.concat([...parts, encoder.end()]).toString();
    },
  };
}

/** A text as SQL. NUL cannot stand in SQL text. */
export function sqlText(value: string | null): string {
  if (value === null) return "NULL";
  return value
    .split("\0")
    .map((part) => `'${part.replaceAll("'", "''")}'`)
    .join(" || chr(0) || ");
}
