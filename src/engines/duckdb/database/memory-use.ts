import type { Statement } from "../../../sql/statement.ts";
import type { EngineMemory, TextRows } from "../../embedded-engine.ts";

const QUERY: Statement = {
  sql: `SELECT
    (SELECT coalesce(sum(memory_usage_bytes), 0)::VARCHAR FROM duckdb_memory()),
    (SELECT coalesce(sum(size), 0)::VARCHAR FROM duckdb_temporary_files()),
    current_setting('memory_limit')`,
  values: [],
};

/** The memory and the temporary files that the database uses. */
export async function memoryOf(inspect: (statement: Statement) => Promise<TextRows>): Promise<EngineMemory> {
  const [[used, spilled, limit] = []] = await inspect(QUERY);
  return { used: Number(used ?? 0), spilled: Number(spilled ?? 0), limit: bytesOf(limit ?? "") };
}

const UNITS: readonly string[] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** Parses a setting as DuckDB shows it: `12.4 GiB`. */
export function bytesOf(text: string): number {
  const [, digits = "", unit = ""] = /^([\d.]+) (\w+)$/.exec(text) ?? [];
  return Math.round(Number(digits) * 1024 ** Math.max(0, UNITS.indexOf(unit)));
}
