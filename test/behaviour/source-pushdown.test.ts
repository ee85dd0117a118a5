import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { code, expectTable } from "../docs-table.ts";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { missingMariaDb, sharedMariaDb } from "../mariadb.ts";
import { testNeeding } from "../needing.ts";
import { missingPostgres, sharedPostgres } from "../postgres.ts";
import { projectFolder } from "../project-folder.ts";
import { type Files, serviceFrom, type TestService } from "../service.ts";
import { ORDERS, writeDeltaTable, writeIcebergTable } from "../source-pages/orders.ts";
import { runSql } from "../source-pages/run-page.ts";
import { until } from "../until.ts";
import { startWebFiles } from "../web-files.ts";

const postgres = sharedPostgres();
const mariadb = sharedMariaDb();

/** An endpoint for each template: /q0, /q1, ... */
function endpoints(connection: string, templates: readonly string[]): Files {
  const request = "request: [{ field-name: id, field-in: query, validators: [{ type: int }] }]\n";
  const files = templates.flatMap((sql, index) => [
    [
      `q${index}.yaml`,
      `url-path: /q${index}\ntemplate-source: q${index}.sql\nconnection: ${connection}\nwith-pagination: false\n${request}`,
    ],
    [`q${index}.sql`, sql],
  ]);
  return Object.fromEntries(files);
}

function serve(extensions: readonly string[], connections: string, files: Files): Promise<TestService> {
  // With one thread, it does not depend on the machine how much is read ahead. A cache would hide what is read.
  const directory = extensions.length === 0 ? {} : { extension_directory: extensionDirectory(...extensions) };
  const settings = { ...directory, threads: 1, enable_external_file_cache: false };
  const main = `duckdb: ${JSON.stringify(settings)}\nconnections: { ${connections} }\n`;
  return serviceFrom({ "eider.yaml": main, ...files });
}

describe("database servers", () => {
  const TABLES = `CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(20));
    CREATE TABLE orders (id INT PRIMARY KEY, name VARCHAR(20), amount DOUBLE PRECISION);
    INSERT INTO orders VALUES (1, 'ann', 12.5), (5, 'Ann', 3), (6, 'ann ', 1); INSERT INTO customers VALUES (1, 'ann')`;
  const JOIN = "SELECT o.id FROM shop.orders o JOIN shop.customers c ON c.id = o.id";
  const TEMPLATES = [
    "SELECT id, amount FROM shop.orders",
    "SELECT amount FROM shop.orders WHERE id = {{params.id}}",
    "SELECT id FROM shop.orders WHERE amount >= 3 AND amount < 9",
    "SELECT amount FROM shop.orders WHERE id IN (1, {{params.id}})",
    "SELECT id FROM shop.orders WHERE name = 'ann'",
    "SELECT id FROM shop.orders WHERE name LIKE 'a%'",
    "SELECT id FROM shop.orders WHERE name ILIKE 'a%'",
    "SELECT id FROM shop.orders WHERE upper(name) = 'ANN'",
    "SELECT id FROM shop.orders WHERE name IS NULL",
    "SELECT amount FROM shop.orders WHERE id = 1 OR name = 'ann'",
    "SELECT id FROM shop.orders LIMIT 2",
    "SELECT id FROM shop.orders ORDER BY amount LIMIT 2",
    "SELECT count(*) AS n FROM shop.orders",
    "SELECT name, sum(amount) AS total FROM shop.orders GROUP BY name",
  ];

  /** What reaches the server for each template. `statements` are those that read tables, since it was last called. */
  async function measure(service: TestService, statements: () => Promise<readonly string[]>) {
    const rows: string[][] = [];
    for (const [index, template] of TEMPLATES.entries()) {
      await statements();
      expect((await service.get(`/q${index}?id=5`)).status).toBe(200);
      rows.push([code(template), (await statements()).map(code).join("; ")]);
    }
    await statements();
    expect((await service.get(`/q${TEMPLATES.length}`)).status).toBe(200);
    // Each table is read on its own.
    const joined = await statements();
    expect(joined.filter((sql) => /orders/.test(sql)).length).toBe(1);
    expect(joined.filter((sql) => /customers/.test(sql)).length).toBe(1);
    return rows;
  }

  testNeeding(missingPostgres, missingExtensions("postgres_scanner"))("PostgreSQL", async () => {
    const server = await postgres();
    const database = await server.createDatabase();
    await server.sql(database, TABLES);
    await server.sql(database, `ALTER DATABASE ${/dbname=(\w+)/.exec(database)?.[1]} SET log_statement = 'all'`);
    const connection = `shop: { type: postgres, dsn: ${JSON.stringify(database)} }`;
    await using service = await serve(["postgres_scanner"], connection, endpoints("shop", [...TEMPLATES, JOIN]));
    let seen = 0;
    let marks = 0;
    const rows = await measure(service, async () => {
      // The log may arrive late, but in order.
      const mark = `mark ${++marks}`;
      await server.sql(database, `SELECT '${mark}'`);
      await until("the log", () => server.log().includes(mark));
      const lines = server.log().slice(seen).split("\n");
      seen = server.log().length;
      return lines.flatMap((line) => {
        const [, sql] = /COPY \((SELECT .*)\) TO STDOUT/.exec(line) ?? [];
        // A condition that DuckDB adds to each statement: all pages of the table.
        return sql === undefined
          ? []
          : sql
              .replace(/ctid BETWEEN \S+ AND \S+ AND |\s+WHERE ctid BETWEEN \S+ AND \S+/, "")
              .replace(/\s+/g, " ")
              .trim();
      });
    });
    expectTable({ page: "sources/postgres.md", heading: "Pushdown", header: ["Template", "Sent to PostgreSQL"], rows });
  });

  testNeeding(missingMariaDb, missingExtensions("mysql_scanner"))("MySQL", async () => {
    const server = await mariadb();
    const database = await server.createDatabase();
    await server.sql(database, `${TABLES}; SET GLOBAL log_output = 'TABLE'; SET GLOBAL general_log = ON`);
    const connection = `shop: { type: mysql, host: 127.0.0.1, port: ${server.port}, database: ${database}, user: root }`;
    await using service = await serve(["mysql_scanner"], connection, endpoints("shop", [...TEMPLATES, JOIN]));
    const rows = await measure(service, async () => {
      const condition = `command_type = 'Execute' AND argument LIKE 'SELECT%${database}%'`;
      const found = await server.sql(
        "",
        `SELECT argument FROM mysql.general_log WHERE ${condition} ORDER BY event_time`,
      );
      await server.sql("", "TRUNCATE mysql.general_log");
      return found === ""
        ? []
        : found.split("\n").map((sql) => sql.replaceAll(`\`${database}\`.`, "").replaceAll("`", ""));
    });
    expectTable({ page: "sources/mysql.md", heading: "Pushdown", header: ["Template", "Sent to MySQL"], rows });
  });

  testNeeding(missingMariaDb, missingExtensions("mysql_scanner"))(
    "MySQL compares strings by its collation, unless DuckDB compares them again",
    async () => {
      const server = await mariadb();
      const database = await server.createDatabase();
      await server.sql(database, TABLES);
      const connection = `shop: { type: mysql, host: 127.0.0.1, port: ${server.port}, database: ${database}, user: root }`;
      await using service = await serve(
        ["mysql_scanner"],
        connection,
        endpoints("shop", [
          "SELECT name FROM shop.orders WHERE name = 'ann' ORDER BY id",
          "SELECT name, count(*) AS n FROM shop.orders GROUP BY name",
          "SELECT name FROM shop.orders WHERE name = 'ann' AND name || '' = 'ann' ORDER BY id",
          "SELECT name || '' AS name, count(*) AS n FROM shop.orders GROUP BY name || '' ORDER BY 1",
        ]),
      );
      expect(await service.json("/q0")).toEqual([{ name: "ann" }, { name: "Ann" }, { name: "ann " }]);
      expect(await service.json("/q1")).toEqual([{ name: "ann", n: 3 }]);
      expect(await service.json("/q2")).toEqual([{ name: "ann" }]);
      expect(await service.json("/q3")).toEqual([
        { name: "Ann", n: 1 },
        { name: "ann", n: 1 },
        { name: "ann ", n: 1 },
      ]);
    },
  );
});

describe("files at a URL", () => {
  const ROWS = "SELECT i AS id, md5(i::VARCHAR) AS name, hash(i) % 1000 AS amount FROM range(200000) r(i)";

  /** How much of the file each template reads, in percent. */
  async function shares(type: string, options: string, templates: readonly string[]): Promise<readonly number[]> {
    using folder = projectFolder({});
    const file = join(folder.path, "orders");
    await runSql(["SET threads = 1", `COPY (${ROWS}) TO '${file}' (FORMAT ${type}${options})`]);
    const content = readFileSync(file);
    await using web = await startWebFiles({ [`/orders.${type}`]: content });
    const connection = `orders: { type: ${type}, path: "${web.url}/orders.${type}" }`;
    await using service = await serve(["httpfs"], connection, endpoints("orders", templates));
    const read: number[] = [];
    for (const index of templates.keys()) {
      const before = web.bytesSent();
      const response = await service.get(`/q${index}?id=150000`);
      expect([response.status, (await response.arrayBuffer()).byteLength > 0]).toEqual([200, true]);
      read.push(Math.round(((web.bytesSent() - before) / content.length) * 100));
    }
    return read;
  }

  testNeeding(missingExtensions("httpfs"))("Parquet", async () => {
    const templates = [
      "SELECT * FROM orders",
      "SELECT id FROM orders",
      "SELECT * FROM orders WHERE id = {{params.id}}",
      "SELECT * FROM orders WHERE name = 'none'",
      "SELECT id FROM orders WHERE upper(name) = 'NONE'",
      "SELECT count(*) AS n FROM orders",
      "SELECT * FROM orders LIMIT 5",
    ];
    const read = await shares("parquet", ", ROW_GROUP_SIZE 20480", templates);
    const rows = templates.map((template, index) => [code(template), `${read[index]} %`]);
    expectTable({ page: "sources/parquet.md", heading: "Pushdown", header: ["Template", "Read"], rows });
  });

  testNeeding(missingExtensions("httpfs"))("CSV and JSON are read as a whole, more than once", async () => {
    const templates = ["SELECT id FROM orders", "SELECT * FROM orders WHERE id = 5", "SELECT id FROM orders LIMIT 5"];
    for (const type of ["csv", "json"])
      for (const share of await shares(type, "", templates)) expect(share).toBeGreaterThan(100);
  });

  testNeeding(missingExtensions("httpfs"))("parts of a Parquet file with an ETag stay in memory", async () => {
    using folder = projectFolder({});
    const file = join(folder.path, "orders.parquet");
    await runSql([`COPY (${ROWS}) TO '${file}'`]);
    await using web = await startWebFiles({ "/orders.parquet": readFileSync(file) });
    const main = `duckdb: { extension_directory: '${extensionDirectory("httpfs")}' }\nconnections: { orders: { type: parquet, path: "${web.url}/orders.parquet" } }\n`;
    await using service = await serviceFrom({
      "eider.yaml": main,
      ...endpoints("orders", ["SELECT id FROM orders WHERE id = 150000"]),
    });
    expect(await service.json("/q0")).toEqual([{ id: 150000 }]);
    const before = web.bytesSent();
    const requests = web.requests.length;
    expect(await service.json("/q0")).toEqual([{ id: 150000 }]);
    expect(web.bytesSent()).toBe(before);
    expect(new Set(web.requests.slice(requests))).toEqual(new Set(["HEAD /orders.parquet"]));
  });
});

interface Operator {
  readonly operator_name?: string;
  /** The rows that it passes on. */
  readonly operator_cardinality?: number;
  readonly extra_info?: Readonly<Record<string, string>>;
  readonly children?: readonly Operator[];
}

/** The operator that has read the table of an endpoint whose template is an EXPLAIN ANALYZE. */
async function scanOf(service: TestService, path: string): Promise<Operator> {
  const [row] = (await service.json(path)) as { explain_value: string }[];
  const below = (operator: Operator): readonly Operator[] => [operator, ...(operator.children ?? []).flatMap(below)];
  const operators = below(JSON.parse(row?.explain_value ?? "{}") as Operator);
  const scan = operators.find(({ operator_name = "" }) => /SCAN|READ/.test(operator_name));
  if (scan === undefined) throw new Error(JSON.stringify(operators));
  return scan;
}

const explained = (templates: readonly string[]): readonly string[] =>
  templates.map((sql) => `EXPLAIN (ANALYZE, FORMAT json) ${sql}`);

describe("tables in several files", () => {
  const TEMPLATES = [
    "SELECT id FROM orders",
    "SELECT id FROM orders WHERE year = 2024",
    "SELECT amount FROM orders WHERE id = 2",
    "SELECT id FROM orders WHERE amount = 3",
    "SELECT id FROM orders WHERE id % 2 = 0",
  ];

  async function filesRead(source: {
    readonly extensions: readonly string[];
    readonly connection: (data: string) => string;
    readonly create: (data: string) => Promise<void>;
    readonly table?: string;
  }): Promise<readonly (readonly [string, string])[]> {
    const { extensions, connection, create, table = "orders" } = source;
    using folder = projectFolder({});
    const data = join(folder.path, "orders");
    await create(data);
    const templates = TEMPLATES.map((sql) => sql.replace("FROM orders", `FROM ${table}`));
    const [name = ""] = table.split(".");
    await using service = await serve(extensions, connection(data), endpoints(name, explained(templates)));
    expect(service.problems).toEqual([]);
    const read: (readonly [string, string])[] = [];
    for (const [index, template] of templates.entries()) {
      const { extra_info: info } = await scanOf(service, `/q${index}`);
      read.push([code(template), `${info?.["Total Files Read"]} of 2`]);
    }
    return read;
  }

  const expectFiles = (page: string, rows: readonly (readonly [string, string])[]): void =>
    expectTable({ page: `sources/${page}.md`, heading: "Pushdown", header: ["Template", "Files read"], rows });

  test("Parquet: only hive partitions leave out files", async () => {
    const read = await filesRead({
      extensions: [],
      connection: (data) => `orders: { type: parquet, path: "${data}/*/*.parquet", hive-partitioning: true }`,
      create: (data) => runSql([`COPY (${ORDERS}) TO '${data}' (FORMAT parquet, PARTITION_BY (year))`]),
    });
    expect(read.map(([, files]) => files)).toEqual(["2 of 2", "1 of 2", "2 of 2", "2 of 2", "2 of 2"]);
  });

  testNeeding(missingExtensions("iceberg", "avro"))("Iceberg", async () => {
    const read = await filesRead({
      extensions: ["iceberg", "avro"],
      connection: (data) => `orders: { type: iceberg, path: "${data}" }`,
      create: (data) => writeIcebergTable({ folder: data }),
    });
    expectFiles("iceberg", read);
  });

  testNeeding(missingExtensions("delta"))("Delta", async () => {
    const read = await filesRead({
      extensions: ["delta"],
      connection: (data) => `orders: { type: delta, path: "${data}" }`,
      create: (data) => writeDeltaTable({ folder: data }),
    });
    expectFiles("delta", read);
  });

  testNeeding(missingExtensions("ducklake"))("DuckLake", async () => {
    const read = await filesRead({
      extensions: ["ducklake"],
      connection: (data) => `lake: { type: ducklake, metadata-path: "${data}.ducklake" }`,
      // Without a limit, so few rows would be in the catalog.
      create: (data) =>
        runSql(
          [
            `ATTACH 'ducklake:${data}.ducklake' AS lake (DATA_INLINING_ROW_LIMIT 0)`,
            `CREATE TABLE lake.orders AS FROM (${ORDERS}) WHERE id = 1`,
            `INSERT INTO lake.orders FROM (${ORDERS}) WHERE id = 2`,
            "DETACH lake",
          ],
          ["ducklake"],
        ),
      table: "lake.orders",
    });
    expectFiles("ducklake", read);
  });
});

describe("files that DuckDB reads as a whole", () => {
  const ROWS = "SELECT i AS id, 'name ' || i AS name FROM range(1000) r(i)";

  /** The rows and columns that leave the scan of a look-up. */
  async function scanned(extension: string, connection: string, table: string) {
    const [name = ""] = table.split(".");
    const lookUp = explained([`SELECT id FROM ${table} WHERE id = 5`]);
    await using service = await serve([extension], connection, endpoints(name, lookUp));
    expect(service.problems).toEqual([]);
    const { operator_cardinality, extra_info: info } = await scanOf(service, "/q0");
    return { rows: operator_cardinality, columns: info?.["Projections"] };
  }

  testNeeding(missingExtensions("sqlite_scanner"))("SQLite: all rows, but only the columns of the query", async () => {
    using folder = projectFolder({});
    const file = join(folder.path, "shop.db");
    await runSql(
      [
        `ATTACH 'sqlite:${file}' AS s`,
        "CREATE TABLE s.orders (id INTEGER PRIMARY KEY, name VARCHAR)",
        `INSERT INTO s.orders ${ROWS}`,
        "DETACH s",
      ],
      ["sqlite_scanner"],
    );
    const connection = `shop: { type: sqlite, path: "${file}" }`;
    expect(await scanned("sqlite_scanner", connection, "shop.orders")).toEqual({ rows: 1000, columns: "id" });
  });

  testNeeding(missingExtensions("excel"))("Excel: all rows and columns", async () => {
    using folder = projectFolder({});
    const file = join(folder.path, "orders.xlsx");
    await runSql(["LOAD excel", `COPY (${ROWS}) TO '${file}' (FORMAT xlsx, HEADER true)`], ["excel"]);
    const connection = `orders: { type: excel, path: "${file}" }`;
    expect(await scanned("excel", connection, "orders")).toMatchObject({ rows: 1000 });
  });
});
