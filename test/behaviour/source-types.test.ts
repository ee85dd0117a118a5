import { join } from "node:path";
import { describe, expect } from "vitest";
import { READ_PART, SAME_AS_JSON, sized } from "../arrow-values.ts";
import { code, expectTable, type TableOnPage } from "../docs-table.ts";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { missingMariaDb, sharedMariaDb } from "../mariadb.ts";
import { testNeeding } from "../needing.ts";
import { conformance } from "../openapi-tools.ts";
import { missingPostgres, sharedPostgres } from "../postgres.ts";
import { type ProjectFolder, projectFolder } from "../project-folder.ts";
import { missingPython, python } from "../python.ts";
import { type Files, serviceFrom, type TestService } from "../service.ts";
import { mysqlTypes } from "../source-types/mysql.ts";
import { postgresTypes } from "../source-types/postgres.ts";
import type { Exception, SourceType, SourceTypes } from "../source-types/source-type.ts";
import { sqliteTypes } from "../source-types/sqlite.ts";

/** The tables of this page show what these tests read. */
const PAGE = "sources/types.md";

const postgres = sharedPostgres();
const mariadb = sharedMariaDb();
const noPyarrow = missingPython("pyarrow");

interface Source {
  /** Its headings on the page: of the types, and of the exceptions. */
  readonly headings: readonly [string, string];
  readonly extension: string;
  readonly missing: readonly (string | undefined)[];
  readonly types: SourceTypes;
  /** Runs SQL in a new database. Returns the options of its connection, as YAML. */
  readonly create: (statements: readonly string[], folder: ProjectFolder) => Promise<string>;
}

const sources: readonly Source[] = [
  {
    headings: ["PostgreSQL", "Other ways to read PostgreSQL"],
    extension: "postgres_scanner",
    missing: [missingPostgres],
    types: postgresTypes,
    async create(statements) {
      const server = await postgres();
      const database = await server.createDatabase();
      await server.sql(database, statements.join(";\n"));
      return `type: postgres, dsn: ${JSON.stringify(database)}`;
    },
  },
  {
    headings: ["MySQL and MariaDB", "Other ways to read MySQL"],
    extension: "mysql_scanner",
    missing: [missingMariaDb],
    types: mysqlTypes,
    async create(statements) {
      const server = await mariadb();
      const database = await server.createDatabase();
      await server.sql(database, statements.join(";\n"));
      return `type: mysql, host: 127.0.0.1, port: ${server.port}, database: ${database}, user: root`;
    },
  },
  {
    headings: ["SQLite", "Other ways to read SQLite"],
    extension: "sqlite_scanner",
    missing: [],
    types: sqliteTypes,
    async create(statements, { path }) {
      const file = join(path, "shop.db");
      python(
        "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.stdin.read())",
        statements.join(";\n"),
        [file],
      );
      return `type: sqlite, path: ${JSON.stringify(file)}`;
    },
  },
];

/** A table with a column `v` and these values, in their order. */
function table(name: string, type: string, values: readonly string[]): readonly string[] {
  const rows = values.map((value, index) => `(${index}, ${value})`);
  const declared = type === "no type" ? "" : type;
  return [`CREATE TABLE ${name} (n INTEGER, v ${declared})`, `INSERT INTO ${name} VALUES ${rows.join(", ")}`];
}

function endpoint(name: string, sql: string): Files {
  return {
    [`${name}.yaml`]: `url-path: /${name}\ntemplate-source: ${name}.sql\nconnection: shop\nwith-pagination: false\n`,
    [`${name}.sql`]: sql,
  };
}

function serve(source: Source, connection: string, files: readonly Files[]): Promise<TestService> {
  const main = `duckdb: { extension_directory: '${extensionDirectory(source.extension)}' }\nconnections: { shop: { ${connection} } }\n`;
  return serviceFrom(Object.assign({ "eider.yaml": main }, ...files));
}

/** A CSV field as RFC 4180 wants it. NULL is empty, and the empty string is in quotes. */
function csvOf(json: string): string {
  if (json === "null") return "";
  const text = json.startsWith('"') ? (JSON.parse(json) as string) : json;
  return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Reads the rows as JSON, Arrow and Parquet. Prints the Arrow type, and what differs. */
const COMPARE = `${SAME_AS_JSON}${READ_PART}
import pyarrow.parquet as pq
results = []
while sys.stdin.buffer.peek(1):
    rows, numbers = json.loads(part(), parse_int=str, parse_float=str), json.loads(part())
    arrow, parquet = pa.ipc.open_stream(part()).read_all(), pq.read_table(pa.BufferReader(part()))
    differences = []
    for table in (arrow, parquet):
        try:
            compare(rows, table)
            for index, number in enumerate(numbers):
                if number and str(table.column("v")[index].as_py()) != str(float(number)):
                    raise Exception(f"row {index} is not {number}")
        except Exception as error:
            differences.append(repr(error))
    results.append({"type": str(arrow.schema.field("v").type), "differences": differences})
print(json.dumps(results))
`;

interface ReadType {
  readonly duckdbType: string;
  readonly arrowType: string;
}

interface OpenApi extends Record<string, unknown> {
  readonly components: { readonly schemas: Record<string, { readonly properties: { readonly v: SqlTyped } }> };
}

interface SqlTyped {
  readonly "x-sql-type": string;
}

/** Reads every type in every format, and expects the values that were put in. */
async function readTypes(source: Source, service: TestService): Promise<readonly ReadType[]> {
  const { types } = source.types;
  const document = (await service.json("/openapi.json")) as OpenApi;
  const { check } = conformance(document);
  const rows = await service.json("/types");
  const duckdbTypes = new Map((rows as { name: string; type: string }[]).map(({ name, type }) => [name, type]));
  const parts: Buffer[] = [];
  for (const [index, { type, values }] of types.entries()) {
    const path = `/t${index}`;
    const written = [...values.map(([, json]) => json), "null"].map((json) => `{"v":${json}}`);
    const fields = [...values.map(([, json, csv]) => csv ?? csvOf(json)), ""];
    const get = async (format: string): Promise<Buffer> => {
      const response = await service.get(`${path}?format=${format}`);
      return Buffer.from(await response.arrayBuffer());
    };
    await check("GET", path, await service.get(path));
    expect([type, (await get("json")).toString()]).toEqual([type, `[${written.join(",")}]`]);
    expect([type, (await get("ndjson")).toString()]).toEqual([type, written.map((row) => `${row}\n`).join("")]);
    expect([type, (await get("csv")).toString()]).toEqual([type, ["v", ...fields, ""].join("\r\n")]);
    const schema = document.components.schemas[`GetT${index}Row`]?.properties.v;
    expect([type, schema?.["x-sql-type"]]).toEqual([type, duckdbTypes.get(`t${index}`)]);
    const numbers = [...values.map(([, , csv = ""]) => csv), ""];
    for (const bytes of [`[${written.join(",")}]`, JSON.stringify(numbers)]) parts.push(sized(Buffer.from(bytes)));
    for (const format of ["arrow", "parquet"]) parts.push(sized(await get(format)));
  }
  const compared: { type: string; differences: string[] }[] = JSON.parse(python(COMPARE, Buffer.concat(parts)));
  expect(compared.map(({ differences }, index) => [types[index]?.type, differences])).toEqual(
    types.map(({ type }) => [type, []]),
  );
  return compared.map(({ type }, index) => ({
    duckdbType: duckdbTypes.get(`t${index}`) ?? "",
    arrowType: type,
  }));
}

/** The only value of a response, as JSON, or its error. */
async function onlyValue(service: TestService, path: string): Promise<string> {
  const text = await (await service.get(path)).text();
  return /^\[\{"v":(.*)\}\]$/.exec(text)?.[1] ?? text;
}

type Table = Pick<TableOnPage, "header" | "rows">;

function typesTable(types: readonly SourceType[], read: readonly ReadType[]): Table {
  const rows = types.map(({ type, values: [[sql, json, csv]], remark = "" }, index) => {
    const { duckdbType, arrowType } = read[index] ?? { duckdbType: "", arrowType: "" };
    const codes = [sql, duckdbType, json, csv ?? csvOf(json), arrowType].map(code);
    return [type === "no type" ? type : code(type), ...codes, remark];
  });
  return { header: ["Type", "Value", "DuckDB", "JSON", "CSV", "Arrow", "Remarks"], rows };
}

function exceptionsTable(exceptions: readonly Exception[]): Table {
  const rows = exceptions.map(({ type, value, returned, instead, json }) => [
    type === "no type" ? type : code(type),
    code(value),
    isError(returned) ? `error: ${returned}` : code(returned),
    code("template" in instead ? instead.template : `init: ${instead.init}`),
    code(json),
  ]);
  return { header: ["Type", "Value", "JSON", "Instead", "JSON then"], rows };
}

function isError(returned: string): boolean {
  return !/^(?:["\d-]|true$|null$)/.test(returned);
}

describe.each(sources)("types of $headings.0", (source) => {
  const needing = testNeeding(...source.missing, missingExtensions(source.extension), noPyarrow);
  const { setup, types, exceptions } = source.types;
  const [heading, exceptionsHeading] = source.headings;

  needing("every format returns the values that were put in, as the page says", async () => {
    using folder = projectFolder({});
    const tables = types.flatMap(({ type, values }, index) =>
      table(`t${index}`, type, [...values.map(([sql]) => sql), "NULL"]),
    );
    const connection = await source.create([...setup, ...tables], folder);
    await using service = await serve(source, connection, [
      ...types.map((_, index) => endpoint(`t${index}`, `SELECT v FROM shop.t${index} ORDER BY n`)),
      endpoint("types", "SELECT table_name AS name, data_type AS type FROM duckdb_columns() WHERE column_name = 'v'"),
    ]);
    expect(service.problems).toEqual([]);
    expectTable({ page: PAGE, heading, ...typesTable(types, await readTypes(source, service)) });
  });

  needing("values that arrive differently can be read as the page says", async () => {
    using folder = projectFolder({});
    const connection = await source.create(
      [...setup, ...exceptions.flatMap(({ type, value }, index) => table(`t${index}`, type, [value]))],
      folder,
    );
    const files = exceptions.flatMap(({ instead }, index) => [
      endpoint(`t${index}`, `SELECT v FROM shop.t${index}`),
      ...("template" in instead ? [endpoint(`x${index}`, instead.template.replace(/\bt\b/, `t${index}`))] : []),
    ]);
    const inits = new Set(exceptions.flatMap(({ instead }) => ("init" in instead ? instead.init : [])));
    await using service = await serve(source, connection, files);
    for (const [index, { value, returned, instead, json }] of exceptions.entries()) {
      const plain = await onlyValue(service, `/t${index}`);
      expect([value, plain]).toEqual([
        value,
        isError(returned) ? expect.stringContaining(jsonText(returned)) : returned,
      ]);
      if ("template" in instead) expect([value, await onlyValue(service, `/x${index}`)]).toEqual([value, json]);
    }
    for (const init of inits) {
      await using other = await serve(source, `${connection}, init: ${JSON.stringify(init)}`, files);
      for (const [index, { value, instead, json }] of exceptions.entries()) {
        if (!("init" in instead && instead.init === init)) continue;
        expect([value, await onlyValue(other, `/t${index}`)]).toEqual([value, json]);
      }
    }
    expectTable({ page: PAGE, heading: exceptionsHeading, ...exceptionsTable(exceptions) });
  });
});

const jsonText = (text: string): string => JSON.stringify(text).slice(1, -1);
