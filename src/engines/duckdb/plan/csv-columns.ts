import duckdb from "@duckdb/node-bindings";
import { quoteLiteral } from "../../../sql/quote.ts";
import type { Statement } from "../../../sql/statement.ts";
import { nameOf, type WholeToken, wholeTokens } from "../../../sql/whole-tokens.ts";
import type { EngineOptions } from "../../embedded-engine.ts";
import { duckdbDialect } from "../dialect.ts";

/**
 * Remembers the columns of CSV files. DuckDB detects them whenever it prepares a statement, which takes 5 to 50 ms, and templates are
 * planned once for each value of an enum.
 */
export interface CsvColumns {
  /** Writes known columns into each `read_csv('/path')`. The result is for planning: running it could read the rows differently. */
  withColumns(native: duckdb.Connection, statement: Statement): Promise<Statement>;
}

const { Type } = duckdb;

/** The types that DuckDB detects, as SQL. */
const DETECTED_TYPES: ReadonlyMap<duckdb.Type, string> = new Map([
  [Type.BOOLEAN, "BOOLEAN"],
  [Type.BIGINT, "BIGINT"],
  [Type.DOUBLE, "DOUBLE"],
  [Type.DATE, "DATE"],
  [Type.TIME, "TIME"],
  [Type.TIMESTAMP, "TIMESTAMP"],
  [Type.TIMESTAMP_TZ, "TIMESTAMPTZ"],
  [Type.VARCHAR, "VARCHAR"],
]);

interface KnownFile {
  readonly identity: string;
  /** As the `columns` argument of read_csv. Undefined if they cannot be known. */
  readonly columns: Promise<string | undefined>;
}

export function openCsvColumns(fileIdentity: EngineOptions["fileIdentity"]): CsvColumns {
  const files = new Map<string, KnownFile>();

  async function columnsOf(native: duckdb.Connection, path: string): Promise<string | undefined> {
    const identity = await fileIdentity?.(path);
    if (identity === undefined) return undefined;
    const known = files.get(path);
    if (known?.identity === identity) return known.columns;
    const columns = detectColumns(native, path).catch(() => undefined);
    files.set(path, { identity, columns });
    return columns;
  }

  return {
    async withColumns(native, statement) {
      const { sql, values } = statement;
      let text = "";
      let from = 0;
      for (const { path, end } of csvCalls(sql)) {
        const columns = await columnsOf(native, path);
        if (columns === undefined) continue;
        text += `${sql.slice(from, end)}, auto_detect = false, columns = ${columns}`;
        from = end;
      }
      return from === 0 ? statement : { sql: text + sql.slice(from), values };
    },
  };
}

async function detectColumns(native: duckdb.Connection, path: string): Promise<string | undefined> {
  const prepared = await duckdb.prepare(native, `FROM read_csv(${quoteLiteral(path)})`);
  try {
    const columns: string[] = [];
    for (let index = 0; index < duckdb.prepared_statement_column_count(prepared); index++) {
      const type = DETECTED_TYPES.get(duckdb.prepared_statement_column_type(prepared, index));
      if (type === undefined) return undefined;
      columns.push(`${quoteLiteral(duckdb.prepared_statement_column_name(prepared, index))}: '${type}'`);
    }
    return `{${columns.join(", ")}}`;
  } finally {
    duckdb.destroy_prepare_sync(prepared);
  }
}

interface CsvCall {
  readonly path: string;
  /** The position after the path. */
  readonly end: number;
}

/** The calls of read_csv whose only argument is the absolute path of one file. */
function csvCalls(sql: string): readonly CsvCall[] {
  if (!/read_csv/i.test(sql)) return [];
  const tokens = [...wholeTokens(sql, duckdbDialect)].filter(({ kind }) => !IGNORED.has(kind));
  return tokens.flatMap((token, index) => {
    const [open, argument, close] = tokens.slice(index + 1, index + 4);
    const isCall = isReadCsv(token) && tokens[index - 1]?.text !== "." && open?.text === "(" && close?.text === ")";
    const path = isCall && argument?.kind === "open-string" ? pathIn(argument.text) : undefined;
    return path === undefined || argument === undefined ? [] : { path, end: argument.start + argument.text.length };
  });
}

const IGNORED: ReadonlySet<WholeToken["kind"]> = new Set(["space", "open-line-comment", "open-block-comment"]);

function isReadCsv(token: WholeToken): boolean {
  return token.kind === "word" && ["read_csv", "read_csv_auto"].includes(nameOf(token));
}

const ABSOLUTE = /^(?:\/|[a-z]:[\\/])/i;

/** Undefined for patterns, for relative paths, which DuckDB may search for, and for folders such as `year=2024`, which add columns. */
function pathIn(literal: string): string | undefined {
  const [, path = ""] = /^'((?:[^'*?[\]{}=]|'')+)'$/.exec(literal) ?? [];
  return ABSOLUTE.test(path) ? path.replaceAll("''", "'") : undefined;
}
