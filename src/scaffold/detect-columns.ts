import { quoteLiteral } from "../sql/quote.ts";
import type { DataFile } from "./data-file.ts";
import { isPlain } from "./names.ts";
import type { TextQuery } from "./text-query.ts";

/** Options of a connection, as in YAML. */
export type ConnectionYaml = Readonly<Record<string, unknown>>;

/**
 * Options that declare the columns of a text file, so that DuckDB need not detect them for every query. Empty for other files, and
 * for those that can only be read by detecting them.
 */
export async function detectColumns({ type }: DataFile, path: string, query: TextQuery): Promise<ConnectionYaml> {
  switch (type) {
    case "csv":
      return await detectCsv(path, query);
    case "json":
      return await detectJson(path, query);
    default:
      return {};
  }
}

const NONE = "(empty)";

async function detectCsv(path: string, query: TextQuery): Promise<ConnectionYaml> {
  const [row = []] = await query(
    `SELECT Delimiter, Quote, Escape, Comment, SkipRows::VARCHAR, HasHeader::VARCHAR, DateFormat, TimestampFormat,
       to_json(Columns)::VARCHAR
     FROM sniff_csv(${quoteLiteral(path)})`,
  );
  const [delimiter, quote, escapeMark, comment, skip, header, dateFormat, timestampFormat, json] = row;
  const found: readonly { readonly name: string; readonly type: string }[] = JSON.parse(json ?? "[]");
  const columns = declared(found.map(({ name, type }) => [name, type]));
  if (columns === undefined || comment !== NONE) return {};
  return {
    "auto-detect": false,
    header: header === "true",
    delimiter,
    // If no field of the sample is quoted, a later one may be.
    ...(quote !== NONE && quote !== '"' && { quote }),
    ...(escapeMark !== NONE && escapeMark !== quote && { escape: escapeMark }),
    ...(skip !== "0" && { skip: Number(skip) }),
    ...(dateFormat !== null && dateFormat !== "%Y-%m-%d" && { "date-format": dateFormat }),
    ...(timestampFormat !== null && { "timestamp-format": timestampFormat }),
    columns,
  };
}

async function detectJson(path: string, query: TextQuery): Promise<ConnectionYaml> {
  const rows = await query(`DESCRIBE SELECT * FROM read_json(${quoteLiteral(path)})`);
  const found = rows.map(([name, type]) => [name ?? "", type ?? ""] as const);
  const names = new Set(found.map(([name]) => name.toLowerCase()));
  // Of two keys that differ only in their case, DuckDB renames one. A value that is not an object gets the name `json`.
  const isRenamed = (name: string): boolean => /_\d+$/.test(name) && names.has(name.toLowerCase().replace(/_\d+$/, ""));
  const columns = names.has("json") || found.some(([name]) => isRenamed(name)) ? undefined : declared(found);
  return columns === undefined ? {} : { columns };
}

function declared(columns: readonly (readonly [name: string, type: string])[]): ConnectionYaml | undefined {
  return columns.length > 0 && columns.every(([name]) => name !== "" && isPlain(name))
    ? Object.fromEntries(columns)
    : undefined;
}
