import { tokensOf } from "../../../sql/statement-words.ts";
import { splitStatements } from "../../../sql/whole-tokens.ts";
import type { ConnectionDefinition } from "../../embedded-engine.ts";
import type { SlotQuery } from "../../queue/queue-groups.ts";
import { duckdbDialect } from "../dialect.ts";

/** Extensions that reach no other machine, or, like httpfs, only if the SQL contains a URL. */
const LOCAL_EXTENSIONS: ReadonlySet<string> = new Set(
  (
    "autocomplete avro aws azure core_functions delta ducklake encodings excel fts h3 httpfs iceberg icu inet jemalloc json " +
    "lance parquet spatial sqlite sqlite_scanner sqlsmith tpcds tpch ui unity_catalog vortex vss"
  ).split(" "),
);
/** The prefixes and types of databases in local files. */
const LOCAL_DATABASES: ReadonlySet<string> = new Set(["duckdb", "ducklake", "file", "sqlite", "sqlite_scanner"]);
const DEFINITIONS: ReadonlySet<string> = new Set(["VIEW", "MACRO", "FUNCTION"]);
const URL_VALUE = /^(?!file:)[a-z][a-z0-9+.-]*:\/\//i;
const URL_LITERAL = /'(?!file:)[a-z][a-z0-9+.-]*:\/\//i;
/** Only where DuckDB reads it: a query that returns links does not wait. */
const URL_READ = /(?:\b(?:FROM|JOIN)|[([])\s*'(?!file:)[a-z][a-z0-9+.-]*:\/\//i;

/** The names of the connections whose queries mostly wait for another machine. */
export function remoteConnections(definitions: readonly ConnectionDefinition[]): readonly string[] {
  return definitions.filter(isRemoteConnection).map(({ name }) => name);
}

/** Returns a function that tells whether a query mostly waits for another machine. */
export function remoteQueries(definitions: readonly ConnectionDefinition[]): (query: SlotQuery) => boolean {
  const names = new Set(remoteConnections(definitions));
  return ({ connections, statements = [] }) =>
    connections.some((name) => names.has(name)) ||
    // The first condition is cheap, and false for nearly all statements.
    statements.some(({ sql }) => sql.includes("://") && URL_READ.test(sql));
}

/**
 * Whether queries over a connection mostly wait for another machine. If in doubt, they do: too many queries at once slow down
 * others, too few leave the machine idle.
 */
function isRemoteConnection({ init, properties = [] }: ConnectionDefinition): boolean {
  if (properties.some((value) => URL_VALUE.test(value))) return true;
  return init !== undefined && splitStatements(init, duckdbDialect).some(leadsElsewhere);
}

function leadsElsewhere(statement: string): boolean {
  const tokens = tokensOf(statement, duckdbDialect);
  const sql = statement.slice(tokens[0]?.at ?? 0);
  switch (tokens[0]?.text) {
    case "FORCE":
    case "INSTALL":
    case "LOAD":
      return !LOCAL_EXTENSIONS.has(extensionIn(sql));
    case "ATTACH":
      return databaseTypesIn(sql).some((type) => !LOCAL_DATABASES.has(type));
    case "CREATE": {
      // CREATE OR REPLACE TEMPORARY comes before the kind. A table is read once, now: later queries are local.
      const words = tokens.slice(1, 5).map(({ text }) => text);
      return words.includes("SECRET") || (words.some((word) => DEFINITIONS.has(word)) && URL_LITERAL.test(sql));
    }
    default:
      return false;
  }
}

/** A name, or the path of a file. */
function extensionIn(sql: string): string {
  const [, name = ""] = /^(?:FORCE\s+)?(?:INSTALL|LOAD)\s+['"]?(?:[^'"\s]*\/)?(\w+)/i.exec(sql) ?? [];
  return name.toLowerCase();
}

/** From `TYPE postgres` and from addresses: `postgres:...`, `s3://...`, `ducklake:postgres:...`. */
function databaseTypesIn(sql: string): readonly string[] {
  const named = [...sql.matchAll(/\bTYPE\s+['"]?(\w+)/gi)];
  const prefixes = [...sql.matchAll(/'(?:ducklake:)?([a-z][a-z0-9_]+):/gi)];
  return [...named, ...prefixes].map(([, type = ""]) => type.toLowerCase());
}
