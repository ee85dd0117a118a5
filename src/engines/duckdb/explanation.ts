import { openLru } from "../../bounded/lru.ts";
import { editDistance } from "../../edit-distance.ts";
import type { Column } from "../../result/column.ts";
import type { Mask } from "../../secrets.ts";
import type { Statement } from "../../sql/statement.ts";
import { withTimeLimit } from "../../time-limit.ts";
import type { TextRows } from "../embedded-engine.ts";
import type { StatementProblem } from "../engine.ts";
import { ASSUMED_CATALOG } from "./plan/assumed-tables.ts";
import { qualifiersOf, relationsIn } from "./plan/relations.ts";
import { RECORDS } from "./write/record-sql.ts";

/**
 * Says in other words than DuckDB what is wrong, and what can be done about it. For logs and for the author of a project, not for
 * clients: an explanation may list tables and columns.
 */
export interface Explanations {
  /** Explains a message about a statement, which must hold no values of a request. Undefined if nothing is known about it. */
  of(message: string, sql: string | undefined): Promise<string | undefined>;
  /** Adds an explanation to a problem with statements. */
  add(problem: StatementProblem | undefined, statements: readonly Statement[]): Promise<StatementProblem | undefined>;
}

export interface ExplanationsOptions {
  /** The folder that relative paths start in. */
  readonly workingFolder?: string | undefined;
  readonly inspect: (statement: Statement) => Promise<TextRows>;
  /** The columns that statements would return. Undefined if these are invalid. */
  readonly describe: (statements: readonly Statement[]) => Promise<readonly Column[] | undefined>;
  readonly mask: Mask;
}

const MAX_NAMES = 10;
const MAX_FUNCTIONS = 5;
/** A call that has failed waits no longer for an explanation. */
const MAX_WAIT_MS = 5_000;
/** The same failure is explained only once in this time. */
const KEPT_MS = 10_000;
const MAX_BYTES = 1024 * 1024;

/** What a message says by itself. The function receives the groups of the pattern. */
const TEXTS: readonly (readonly [pattern: RegExp, text: (...groups: string[]) => string])[] = [
  [/No magic bytes found at end of file '([^']*)'/, (file) => `${file} is no Parquet file, or only a part of one`],
  [/File '([^']*)' too small to be a Parquet file/, (file) => `${file} is no Parquet file, or only a part of one`],
  [
    /Error when sniffing file "([^"]*)"/,
    (file) => `the columns of ${file} could not be detected; name its delimiter, quote and columns in read_csv`,
  ],
  [
    /CSV Error on Line: (\d+)[\s\S]*\n *file = ([^\n]*)/,
    (line, file) => `line ${line} of ${file} does not fit the columns; name these and their types in read_csv`,
  ],
  [
    /password authentication failed for user "([^"]*)"|Access denied for user '([^']*)'/,
    (postgres, mysql) => `the server rejects the user ${postgres || mysql} or the password; check both`,
  ],
  [/no password supplied/, () => "the server requires a password, and none is set"],
  [/FATAL: +role "([^"]*)" does not exist/, (user) => `the server has no user ${user}`],
  [
    /FATAL: +database "([^"]*)" does not exist|Unknown database '([^']*)'/,
    (postgres, mysql) => `the server has no database ${postgres || mysql}`,
  ],
  [
    /could not translate host name "([^"]*)"|Unknown (?:MySQL )?server host '([^']*)'/,
    (postgres, mysql) => `there is no host ${postgres || mysql}; check its name`,
  ],
  [
    /does not support SSL, but SSL was required|SSL is required, but the server does not support it/,
    () => "the server offers no TLS; turn it on there, or change ssl-mode",
  ],
  [
    /no pg_hba\.conf entry .*no encryption/,
    () => "the server accepts no connection without TLS from here; set ssl-mode: require",
  ],
  [/certificate verify failed/, () => "the certificate of the server cannot be verified; name its authority"],
  [
    /server at "([^"]*)".*, port (\d+) failed: Connection refused/,
    (host, port) => `nothing listens on port ${port} of ${host}; check whether the server runs there`,
  ],
  [
    /Can't connect to (?:MySQL |local )?server on '([^']*)'/,
    (host) => `no MySQL server can be reached at ${host}; check host and port, and whether it runs`,
  ],
  [
    /server at "([^"]*)".*, port (\d+) failed: (?:timeout expired|Connection timed out)/,
    (host, port) => `port ${port} of ${host} does not respond; a firewall may block it`,
  ],
  [
    /'(\w+:\/\/[^']*)'[\s\S]*NoSuchBucket/,
    (url) => `there is no bucket for ${url}; check its name, region and endpoint`,
  ],
  [/'(\w+:\/\/[^']*)'[\s\S]*\b(?:HTTP 404|404 Not Found)/, (url) => `there is nothing at ${url}`],
  [/'(\w+:\/\/[^']*)'[\s\S]*\bHTTP 40[13]\b/, (url) => `access to ${url} is denied; check its secret and the region`],
  [/Could not connect to server error for HTTP \w+ to '([^']*)'/, (url) => `no server responds at ${url}`],
  [/Could not resolve hostname error for HTTP \w+ to '([^']*)'/, (url) => `the host of ${url} does not exist`],
];

/** Explains a message by its text alone. */
export function explainText(message: string): string | undefined {
  for (const [pattern, text] of TEXTS) {
    const found = pattern.exec(message);
    if (found !== null) return text(...found.slice(1).map((group) => group ?? ""));
  }
  return undefined;
}

const NO_FILES = /No files found that match the pattern "([^"]*)"/;
const NO_TABLE = /^Catalog Error: Table with name "?(.+?)"? does not exist!/;
const NO_SCHEMA = /^Catalog Error: Table with name .* does not exist because schema "(.+?)" does not exist/;
const NO_FUNCTION = /^Catalog Error: (?:\w+ )?Function with name "?(.+?)"? does not exist!/;
const NO_COLUMN =
  /^Binder Error: (?:Table "(?<table>[^"]+)" does not have a column (?:named|with name)|Referenced (?:update )?column|Column) "?(?<column>[^"\s]+)"?(?: in \w+ list)?(?= not found|\n|$)/;

/** They may send a statement to a server when they are only planned. */
const RUNS_ELSEWHERE = /_(?:query|execute)$/;
/** Those of databases and servers themselves. */
const IS_OWN = "schema_name NOT IN ('information_schema', 'pg_catalog', 'mysql', 'performance_schema', 'sys')";
/** Two statements: DuckDB must not read two lists of its catalog at the same time (see `inspect`). */
const TABLES = ["table_name FROM duckdb_tables()", "view_name FROM duckdb_views()"].map(
  (list) =>
    `SELECT database_name, schema_name, (database_name = current_database())::VARCHAR, ${list} WHERE NOT internal AND ${IS_OWN}`,
);
const SCHEMAS = `SELECT database_name, schema_name FROM duckdb_schemas() WHERE ${IS_OWN}`;
const DATABASES =
  "SELECT database_name FROM duckdb_databases() WHERE NOT internal AND NOT starts_with(database_name, '__ducklake_') " +
  `AND database_name <> '${ASSUMED_CATALOG}'`;
const FUNCTIONS = "SELECT DISTINCT function_name FROM duckdb_functions()";

export function openExplanations(options: ExplanationsOptions): Explanations {
  const { workingFolder, inspect, describe, mask } = options;
  const kept = openLru<{ readonly at: number; readonly text: Promise<string | undefined> }>({ maxBytes: MAX_BYTES });

  const list = (sql: string): Promise<TextRows> => inspect({ sql, values: [] });

  async function missingTable(name: string, sql: string): Promise<string> {
    const [database, schema] = qualifiersOf(name, sql);
    const rows: TextRows[number][] = [];
    for (const each of TABLES) rows.push(...(await list(each)));
    const elsewhere = rows.find(([, , , table]) => isSame(table, name));
    if (database === undefined && elsewhere !== undefined) {
      const [inDatabase, inSchema, , table] = elsewhere;
      return `no table ${name} in the default database; there is ${inDatabase}.${inSchema}.${table}`;
    }
    const there = rows.filter(([inDatabase, inSchema, isDefault, table]) => {
      if (table === RECORDS) return false;
      if (database === undefined) return isDefault === "true";
      if (schema !== undefined) return isSame(inDatabase, database) && isSame(inSchema, schema);
      return isSame(inDatabase, database) || (isDefault === "true" && isSame(inSchema, database));
    });
    const place = database === undefined ? "the default database" : [database, schema].filter(Boolean).join(".");
    const names = there.flatMap(([, , , table]) => table ?? []);
    return `no table ${name} in ${place}; ${listOf("tables", name, names)}`;
  }

  async function missingSchema(name: string, sql: string): Promise<string | undefined> {
    const [, database] = new RegExp(`(\\w+)\\."?${escapeName(name)}"?\\.`, "i").exec(sql) ?? [];
    if (database !== undefined) {
      const rows = await list(SCHEMAS);
      const schemas = rows.flatMap(([inDatabase, schema]) => (isSame(inDatabase, database) && schema) || []);
      return `no schema ${name} in ${database}; ${listOf("schemas", name, schemas)}`;
    }
    // Otherwise DuckDB has named a schema that the author did not write.
    if (!new RegExp(`\\b${escapeName(name)}\\b`, "i").test(sql)) return undefined;
    const databases = (await list(DATABASES)).flatMap(([each]) => each ?? []);
    return `no database or schema ${name}; ${listOf("databases", name, databases)}`;
  }

  async function missingFunction(name: string): Promise<string> {
    const limit = Math.max(2, name.length / 2);
    const names = (await list(FUNCTIONS)).flatMap(([each]) => each ?? []);
    const similar = nearestFirst(name, names).filter((each) => distance(name, each) < limit);
    return similar.length === 0
      ? `no function ${name}; it may belong to an extension that is not loaded`
      : `no function ${name}; similar names: ${similar.slice(0, MAX_FUNCTIONS).join(", ")}`;
  }

  async function missingColumn(column: string, table: string | undefined, sql: string): Promise<string | undefined> {
    const all = relationsIn(sql).filter(({ name }) => !RUNS_ELSEWHERE.test(name));
    const used =
      table === undefined ? all : all.filter(({ alias, name }) => isSame(alias, table) || isSame(name, table));
    const described = await Promise.all(
      used.map(({ text }) => describe([{ sql: `SELECT * FROM ${text}`, values: [] }])),
    );
    const columns = [...new Set(described.flatMap((each) => (each ?? []).map(({ name }) => name)))];
    // It exists, but not where it is used: in a sub-query, or before an alias.
    if (columns.length === 0 || columns.some((name) => isSame(name, column))) return undefined;
    const places = [...new Set(used.flatMap(({ text }, index) => (described[index] === undefined ? [] : text)))];
    return `no column ${column} in ${places.join(", ")}; ${listOf("columns", column, columns)}`;
  }

  function missingFile(path: string): string {
    if (/^(?:\/|\w+:)/.test(path)) return `no file matches ${path}`;
    return workingFolder === undefined
      ? `no file matches ${path} in the working directory`
      : `no file matches ${path} in the working directory ${workingFolder}`;
  }

  /** Looks up names that exist. Undefined if the message is about something else. */
  function lookUp(message: string, sql: string): Promise<string | undefined> | undefined {
    const [, schema] = NO_SCHEMA.exec(message) ?? [];
    if (schema !== undefined) return missingSchema(schema, sql);
    const [, table] = NO_TABLE.exec(message) ?? [];
    if (table !== undefined) return missingTable(table, sql);
    const [, name] = NO_FUNCTION.exec(message) ?? [];
    if (name !== undefined) return missingFunction(name);
    const { column, table: of } = NO_COLUMN.exec(message)?.groups ?? {};
    return column === undefined ? undefined : missingColumn(column, of, sql);
  }

  async function lookUpOnce(message: string, sql: string): Promise<string | undefined> {
    const key = `${message}\n${sql}`;
    const known = kept.get(key);
    if (known !== undefined && performance.now() - known.at < KEPT_MS) return await known.text;
    const found = lookUp(message, sql);
    if (found === undefined) return undefined;
    // Without an explanation, the message itself has to do.
    const text = withTimeLimit(
      found.catch(() => undefined),
      MAX_WAIT_MS,
      () => undefined,
    );
    kept.set(key, { at: performance.now(), text });
    return await text;
  }

  async function explanationOf(message: string, sql: string | undefined): Promise<string | undefined> {
    const [, file] = NO_FILES.exec(message) ?? [];
    const text = file === undefined ? explainText(message) : missingFile(file);
    const explanation = text ?? (sql === undefined ? undefined : await lookUpOnce(message, sql));
    return explanation && mask(explanation);
  }

  return {
    of: explanationOf,
    async add(problem, statements) {
      if (problem?.kind !== "names") return problem;
      const explanation = await explanationOf(problem.message, statements[problem.statement]?.sql);
      return { ...problem, explanation };
    },
  };
}

function isSame(one: string | null | undefined, other: string): boolean {
  return one?.toLowerCase() === other.toLowerCase();
}

function escapeName(name: string): string {
  return name.replace(/[^\w\s]/g, "\\$&");
}

function distance(one: string, other: string): number {
  return editDistance(one.toLowerCase(), other.toLowerCase());
}

function nearestFirst(word: string, names: readonly string[]): readonly string[] {
  const ranked = [...new Set(names)].map((name) => ({ name, rank: distance(word, name) }));
  return ranked.sort((a, b) => a.rank - b.rank || (a.name < b.name ? -1 : 1)).map(({ name }) => name);
}

/** `tables there: customers, orders and 3 more` */
function listOf(what: string, word: string, names: readonly string[]): string {
  if (names.length === 0) return `there are no ${what}`;
  const sorted = nearestFirst(word, names);
  const more = sorted.length > MAX_NAMES ? ` and ${sorted.length - MAX_NAMES} more` : "";
  return `${what} there: ${sorted.slice(0, MAX_NAMES).join(", ")}${more}`;
}
