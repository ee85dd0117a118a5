import { nameOf, wholeTokens } from "../../../sql/whole-tokens.ts";
import type { NeededExtension } from "../../extensions.ts";
import { duckdbDialect } from "../dialect.ts";

/** Other names of extensions, database types and types of secrets, and the extensions that they need. */
const EXTENSIONS: Readonly<Record<string, readonly string[]>> = {
  gcs: ["httpfs"],
  http: ["httpfs"],
  https: ["httpfs"],
  huggingface: ["httpfs"],
  // It cannot be loaded without the other.
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
const FILES: readonly (readonly [address: RegExp, extension: string])[] = [
  [/^(?:https?|s3|s3a|s3n|gs|gcs|r2|hf):\/\//i, "httpfs"],
  [/^(?:az|azure|abfss?):\/\//i, "azure"],
  [/\.xlsx$/i, "excel"],
  [/\.avro$/i, "avro"],
];

interface Part {
  readonly kind: "name" | "string" | "symbol";
  /** Names are in lower case. */
  readonly text: string;
}

/** The extensions that SQL or a template needs, as far as its text shows. */
export function neededExtensions(sql: string): readonly NeededExtension[] {
  const needed = statementsIn(sql).flatMap((parts) => [
    ...inStatement(parts),
    ...inFunctions(parts),
    ...inFiles(parts),
  ]);
  const all = needed.flatMap(({ name, repository }) =>
    (EXTENSIONS[name] ?? [name]).map((extension) => ({ name: extension, repository })),
  );
  // The one that says where it comes from counts.
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

function inStatement(parts: readonly Part[]): readonly NeededExtension[] {
  const [verb, second] = parts.map(({ text }) => text);
  switch (verb) {
    case "force":
      return inStatement(parts.slice(1));
    case "install":
    case "load": {
      // A path needs no extension directory.
      if (second === undefined || /[\\/.]/.test(second)) return [];
      return [{ name: second.toLowerCase(), repository: parts[2]?.text === "from" ? parts[3]?.text : undefined }];
    }
    case "attach":
      return [...typesIn(parts), ...prefixesIn(parts), ...addressesIn(parts)].map(unlocated);
    case "create": {
      if (!parts.slice(1, 5).some(({ text }) => text === "secret")) return [];
      const usesChain = parts.some(({ text }) => text.toLowerCase() === "credential_chain");
      const types = typesIn(parts);
      return [...types, ...(usesChain && !types.includes("azure") ? ["aws"] : [])].map(unlocated);
    }
    default:
      return [];
  }
}

/** From `TYPE postgres`. */
function typesIn(parts: readonly Part[]): readonly string[] {
  return parts.flatMap(({ text }, index) => {
    const type = parts[index - 1]?.text === "type" ? text.toLowerCase() : "duckdb";
    return BUILT_IN_TYPES.has(type) ? [] : type;
  });
}

/** From `'postgres:...'` and `'ducklake:postgres:...'`. */
function prefixesIn(parts: readonly Part[]): readonly string[] {
  return parts.flatMap(({ kind, text }) => {
    const [, first = "", second = ""] = /^([a-z][a-z0-9_]+):(?!\/\/)(?:([a-z][a-z0-9_]+):)?/i.exec(text) ?? [];
    if (kind !== "string") return [];
    return [first, second]
      .map((prefix) => prefix.toLowerCase())
      .filter((prefix) => prefix !== "" && !BUILT_IN_TYPES.has(prefix));
  });
}

function inFunctions(parts: readonly Part[]): readonly NeededExtension[] {
  return parts.flatMap(({ kind, text }, index) => {
    if (kind !== "name" || parts[index + 1]?.text !== "(") return [];
    return FUNCTIONS.filter(([name]) => name.test(text)).map(([, extension]) => unlocated(extension));
  });
}

/** Only where DuckDB reads a file: a query that returns links needs no extension. */
function inFiles(parts: readonly Part[]): readonly NeededExtension[] {
  const read = parts.filter((_, index) => {
    const [before, reader] = [parts[index - 1]?.text ?? "", parts[index - 2]?.text ?? ""];
    return ["from", "join", "["].includes(before) || (before === "(" && READERS.test(reader));
  });
  return addressesIn(read).map(unlocated);
}

function addressesIn(parts: readonly Part[]): readonly string[] {
  return parts.flatMap(({ kind, text }) =>
    kind === "string" ? FILES.filter(([address]) => address.test(text)).map(([, extension]) => extension) : [],
  );
}

function unlocated(name: string): NeededExtension {
  return { name, repository: undefined };
}
