import type { EmbeddedEngine } from "../engines/embedded-engine.ts";
import { engine as engineType } from "../engines/index.ts";
import { errorMessage } from "../error-message.ts";
import { RequestFailure } from "../failure.ts";
import type { Column } from "../result/column.ts";
import { statement } from "../sql/statement.ts";
import { connectionOptions, type DataFile, isDatabase, ScaffoldError } from "./data-file.ts";
import { type ConnectionYaml, detectColumns } from "./detect-columns.ts";
import { findKey } from "./find-key.ts";
import { nameInSql, type Table } from "./table.ts";
import { queryWith } from "./text-query.ts";

/** A data file, and the name of the connection that will open it. */
export interface NamedFile {
  readonly connection: string;
  readonly file: DataFile;
}

/** What is in a data file. */
export interface FileContent {
  readonly connection: string;
  /** The options of the connection, besides its type and path. */
  readonly options: ConnectionYaml;
  readonly tables: readonly Table[];
}

/** Text files up to this size are read as a whole without a noticeable delay. */
const SMALL_FILE_BYTES = 16 * 1_048_576;

/** Finds the tables of a file: those of a database, otherwise one. Rejects with a ScaffoldError. */
export async function inspectFile(named: NamedFile, engine: EmbeddedEngine): Promise<FileContent> {
  const { connection, file } = named;
  try {
    const { path } = connectionOptions(file, file.path);
    const options = await detectColumns(file, path, queryWith(engine, []));
    await openFile(named, { ...options, path }, engine);
    const tables = isDatabase(file) ? await databaseTables(named, engine) : [await fileTable(named, engine)];
    return { connection, options, tables };
  } catch (error) {
    if (error instanceof ScaffoldError) throw error;
    throw new ScaffoldError(`${file.name}: cannot be read as ${file.type}: ${shortReason(error)}`, { cause: error });
  }
}

/** DuckDB's messages about files go on for many lines. */
function shortReason(error: unknown): string {
  const cause = error instanceof RequestFailure ? error.cause : error;
  return errorMessage(cause).split("\n").slice(0, 2).join(" ");
}

/** Does what the connection will do. */
async function openFile(
  { connection, file }: NamedFile,
  options: ConnectionYaml,
  engine: EmbeddedEngine,
): Promise<void> {
  const type = engineType.connectionTypes.find((each) => each.type === file.type);
  const texts = Object.entries(options).flatMap(([key, value]) => optionTexts(key, value));
  const sql = type?.expand(Object.fromEntries(texts), { name: connection, readOnly: isDatabase(file) });
  await engine.attach(connection, sql ?? "");
}

/** An option as the connection type expects it: the keys of a map follow its name and a dot. */
function optionTexts(key: string, value: unknown): readonly (readonly [string, string])[] {
  return typeof value === "object" && value !== null
    ? Object.entries(value).map(([name, each]) => [`${key}.${name}`, String(each)])
    : [[key, String(value)]];
}

async function fileTable({ connection, file }: NamedFile, engine: EmbeddedEngine): Promise<Table> {
  const isLargeText = file.type !== "parquet" && file.bytes > SMALL_FILE_BYTES;
  const known = { title: file.title, connection, path: [connection], isSlowToCount: isLargeText };
  const columns = await columnsOf(known, engine);
  const mayReadAll = file.type === "parquet" ? "if-short" : !isLargeText;
  return { ...known, columns, key: await findKey({ ...known, columns }, mayReadAll, queryWith(engine, [])) };
}

const TABLES = `
  SELECT t.schema_name, t.table_name, k.key, t.kind
  FROM (
    SELECT database_name, schema_name, table_name, 'table' AS kind FROM duckdb_tables() WHERE NOT internal
    UNION ALL SELECT database_name, schema_name, view_name, 'view' FROM duckdb_views() WHERE NOT internal
  ) t
  LEFT JOIN (
    SELECT database_name, schema_name, table_name, constraint_column_names[1] AS key
    FROM duckdb_constraints()
    WHERE constraint_type = 'PRIMARY KEY' AND len(constraint_column_names) = 1
  ) k USING (database_name, schema_name, table_name)
  WHERE t.database_name = $1
  ORDER BY ALL`;

async function databaseTables({ connection, file }: NamedFile, engine: EmbeddedEngine): Promise<readonly Table[]> {
  const query = queryWith(engine, []);
  const found = await query(TABLES, connection);
  if (found.length === 0) throw new ScaffoldError(`${file.name}: the database has no tables`);
  const tables: Table[] = [];
  for (const [schema, name, primaryKey, kind] of found) {
    const path = [connection, ...(schema === "main" ? [] : [schema ?? ""]), name ?? ""];
    const known = { title: path.slice(1).join(" "), connection, path, isSlowToCount: false };
    const columns = await columnsOf(known, engine);
    const column = columns.find((each) => each.name === primaryKey);
    const mayReadAll = file.type === "duckdb" ? "if-short" : file.bytes <= SMALL_FILE_BYTES;
    const find = () => (kind === "view" ? undefined : findKey({ ...known, columns }, mayReadAll, query));
    tables.push({ ...known, columns, key: column === undefined ? await find() : { column, isVerified: true } });
  }
  return tables;
}

/** The columns of a table. Rejects with a ScaffoldError. */
export async function columnsOf(
  table: Pick<Table, "title" | "path">,
  engine: EmbeddedEngine,
): Promise<readonly Column[]> {
  const sql = `SELECT * FROM ${nameInSql(table)}`;
  const columns = await engine.describe([statement(sql)]);
  if (columns !== undefined) return columns;
  const problem = await engine.plan([statement(sql)]);
  throw new ScaffoldError(`${table.title}: ${problem?.message ?? "a column has a type that Eider cannot return"}`);
}
