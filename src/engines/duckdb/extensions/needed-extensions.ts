import { nameOf, wholeTokens } from "../../../sql/whole-tokens.ts";
import type { NeededExtension } from "../../extensions.ts";
import { duckdbDialect } from "../dialect.ts";

/** The extensions that other names stand for: aliases, database types and secret types. */
const EXTENSIONS: Readonly<Record<string, readonly string[]>> = {
  gcs: ["httpfs"],
  http: ["httpfs"],
  https: ["httpfs"],
  huggingface: ["httpfs"],
  // iceberg cannot be loaded without avro.
  iceberg: ["iceberg", "avro"],
  md: ["motherduck"],
  mysql: ["mysql_scanner"],
  odbc: ["odbc_scanner"],
  postgres: ["postgres_scanner"],
  postgresql: ["postgres_scanner"],
  r2: ["httpfs"],
  s3: ["httpfs"],
  sqlite: ["sqlite_scanner"],
  sqlite3: ["sqlite_scanner"],
  uc_catalog: ["unity_catalog"],
};
const BUILT_IN_TYPES: ReadonlySet<string> = new Set(["duckdb", "file"]);

const FUNCTIONS: readonly (readonly [name: RegExp, extension: string])[] = [
  [/^read_xlsx$/, "excel"],
  [/^read_avro$/, "avro"],
  [/^iceberg_\w+$/, "iceberg"],
  [/^delta_\w+$/, "delta"],
  [/^ducklake_\w+$/, "ducklake"],
  [/^postgres_\w+$/, "postgres"],
  [/^mysql_\w+$/, "mysql"],
  [/^sqlite_\w+$/, "sqlite"],
  [/^st_\w+$/, "spatial"],
  [/^(?:create_fts_index|match_bm25|stem)$/, "fts"],
  [/^(?:hnsw_\w+|vss_\w+)$/, "vss"],
];
const READERS = /^(?:read_\w+|\w+_scan|parquet_\w+|glob|sniff_csv)$/;
const ADDRESSES: readonly (readonly [address: RegExp, extension: string])[] = [
  [/^(?:https?|s3|s3a|s3n|gs|gcs|r2|hf):\/\//i, "httpfs"],
  [/^(?:az|azure|abfss?):\/\//i, "azure"],
  [/\.xlsx$/i, "excel"],
  [/\.avro$/i, "avro"],
];

/** A token of a statement. */
interface Part {
  readonly kind: "name" | "string" | "symbol";
  /** Names are in lower case. */
  readonly text: string;
}

/** The extensions that SQL or a template needs, as far as its text shows. */
export function neededExtensions(sql: string): readonly NeededExtension[] {
  const needed = statementsIn(sql).flatMap((parts) => [
    ...neededByStatement(parts),
    ...neededByFunctions(parts),
    ...neededByFiles(parts),
  ]);
  const all = needed.flatMap(({ name, repository }) =>
    (EXTENSIONS[name] ?? [name]).map((extension) => ({ name: extension, repository })),
  );
  // An extension that is needed several times is listed once, with its repository if one is named.
  const byName = new Map(all.toReversed().map((extension) => [extension.name, extension]));
  for (const extension of all) if (extension.repository !== undefined) byName.set(extension.name, extension);
  return [...byName.values()].toReversed();
}

function statementsIn(sql: string): readonly (readonly Part[])[] {
  const statements: Part[][] = [[]];
  for (const token of wholeTokens(sql, duckdbDialect)) {
    if (token.kind === "symbol" && token.text === ";") statements.push([]);
    else statements.at(-1)?.push(...partOf(token));
  }
  return statements;
}

function partOf(token: { readonly kind: string; readonly text: string }): readonly Part[] {
  switch (token.kind) {
    case "word":
    case "open-identifier":
      return [{ kind: "name", text: nameOf(token) }];
    case "open-string":
      return [{ kind: "string", text: token.text.replace(/^\w?'|'$/g, "") }];
    case "symbol":
      return [{ kind: "symbol", text: token.text }];
    default:
      return [];
  }
}

function neededByStatement(parts: readonly Part[]): readonly NeededExtension[] {
  const [verb, second] = parts.map(({ text }) => text);
  switch (verb) {
    case "force":
      return neededByStatement(parts.slice(1));
    case "install":
    case "load": {
      // DuckDB does not search for an extension that is named by its path.
      if (second === undefined || /[\\/.]/.test(second)) return [];
      return [{ name: second.toLowerCase(), repository: parts[2]?.text === "from" ? parts[3]?.text : undefined }];
    }
    case "attach":
      return [...typesIn(parts), ...prefixesIn(parts), ...extensionsForAddresses(parts)].map(withoutRepository);
    case "create": {
      if (!parts.slice(1, 5).some(({ text }) => text === "secret")) return [];
      const usesChain = parts.some(({ text }) => text.toLowerCase() === "credential_chain");
      const types = typesIn(parts);
      return [...types, ...(usesChain && !types.includes("azure") ? ["aws"] : [])].map(withoutRepository);
    }
    default:
      return [];
  }
}

/** `postgres` in `TYPE postgres`. */
function typesIn(parts: readonly Part[]): readonly string[] {
  return parts.flatMap(({ text }, index) => {
    const type = text.toLowerCase();
    return parts[index - 1]?.text === "type" && !BUILT_IN_TYPES.has(type) ? type : [];
  });
}

/** `postgres` in `'postgres:...'`; `ducklake` and `postgres` in `'ducklake:postgres:...'`. */
function prefixesIn(parts: readonly Part[]): readonly string[] {
  return parts.flatMap(({ kind, text }) => {
    const [, first = "", second = ""] = /^([a-z][a-z0-9_]+):(?!\/\/)(?:([a-z][a-z0-9_]+):)?/i.exec(text) ?? [];
    if (kind !== "string") return [];
    return [first, second]
      .map((prefix) => prefix.toLowerCase())
      .filter((prefix) => prefix !== "" && !BUILT_IN_TYPES.has(prefix));
  });
}

function neededByFunctions(parts: readonly Part[]): readonly NeededExtension[] {
  return parts.flatMap(({ kind, text }, index) => {
    if (kind !== "name" || parts[index + 1]?.text !== "(") return [];
    return FUNCTIONS.filter(([name]) => name.test(text)).map(([, extension]) => withoutRepository(extension));
  });
}

/** Only for addresses that DuckDB reads, not for those that a query merely returns. */
function neededByFiles(parts: readonly Part[]): readonly NeededExtension[] {
  const read = parts.filter((_, index) => {
    const [before, reader] = [parts[index - 1]?.text ?? "", parts[index - 2]?.text ?? ""];
    return ["from", "join", "["].includes(before) || (before === "(" && READERS.test(reader));
  });
  return extensionsForAddresses(read).map(withoutRepository);
}

function extensionsForAddresses(parts: readonly Part[]): readonly string[] {
  return parts.flatMap(({ kind, text }) =>
    kind === "string" ? ADDRESSES.filter(([address]) => address.test(text)).map(([, extension]) => extension) : [],
  );
}

function withoutRepository(name: string): NeededExtension {
  return { name, repository: undefined };
}
