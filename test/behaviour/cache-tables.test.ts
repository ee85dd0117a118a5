import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openTestEndpoints } from "../mcp-product.ts";
import { folderWith } from "../process/program.ts";
import { type Files, problemsFrom, serviceFrom, type TestService } from "../service.ts";

const MAIN = `connections:
  db:
    init: |
      CREATE TABLE orders AS SELECT range AS id, range % 3 AS region, ['new', 'paid', 'sent'][1 + range % 3] AS status FROM range(30);
`;

const at = (path: string, sql: string, yaml = "", method = "GET"): Files => {
  const file = `${method}-${path}`.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  return {
    [`${file}.yaml`]: `url-path: ${path}\nmethod: ${method}\ntemplate-source: ${file}.sql\nconnection: [db]\nwith-pagination: false\n${yaml}`,
    [`${file}.sql`]: sql,
  };
};

const TABLE = "{{cache.catalog}}.{{cache.schema}}.{{cache.table}}";
/** The endpoint that fills the table `cache.shop.totals`. */
const OWNER: Files = {
  ...at(
    "/totals",
    `SELECT region, n FROM ${TABLE} ORDER BY region`,
    "cache: { table: totals, schema: shop, template-file: totals-refresh.sql }\n",
  ),
  "totals-refresh.sql":
    "SELECT region, any_value(status) AS status, count(*)::INTEGER AS n FROM orders GROUP BY region",
};
const add = (action: string): Files =>
  at(
    "/add",
    "INSERT INTO orders VALUES (100, 0, 'new')",
    `cache: { table: totals, schema: shop, ${action}: true }\n`,
    "POST",
  );
const SUM = "SELECT sum(n)::INTEGER AS n FROM cache.shop.totals";

const rowsAt = async (service: TestService, path: string) => {
  const response = await service.get(path);
  return { status: response.status, cache: response.headers.get("x-cache"), rows: (await response.json()) as unknown };
};
const post = async (service: TestService, path: string): Promise<number> =>
  (await service.request(path, { method: "POST" })).status;

describe("an endpoint that names the table of another", () => {
  const READERS: readonly (readonly [string, string, string])[] = [
    ["without a cache block", SUM, ""],
    ["with quotes and in capitals", 'SELECT sum(t.n)::INTEGER AS n FROM "cache" . Shop."TOTALS" AS t', ""],
    ["with the name before its columns", "SELECT sum(totals.n)::INTEGER AS n FROM cache.shop.totals", ""],
    ["with a result cache of its own", SUM, "cache: { table: sum }\n"],
    ["that it shares", SUM, "cache: { table: totals, schema: shop }\n"],
    [
      "that it shares, by the variables",
      `SELECT sum(n)::INTEGER AS n FROM ${TABLE}`,
      "cache: { table: totals, schema: shop }\n",
    ],
    [
      "chosen by an enum",
      "SELECT sum(n)::INTEGER AS n FROM cache.shop.{{params.t}}",
      "request: [{ field-name: t, field-in: query, default: totals, validators: [{ type: enum, allowedValues: [totals] }] }]\n",
    ],
  ];

  test.each(READERS)("%s: the first read fills it", async (_, sql, yaml) => {
    await using service = await serviceFrom({ "eider.yaml": MAIN, ...OWNER, ...at("/sum", sql, yaml) });
    expect(await rowsAt(service, "/sum")).toMatchObject({ status: 200, rows: [{ n: 30 }] });
    expect(await rowsAt(service, "/totals")).toMatchObject({ cache: "hit" });
  });

  test.each(READERS)("%s: a stale one is refreshed first", async (name, sql, yaml) => {
    await using service = await serviceFrom({
      "eider.yaml": MAIN,
      ...OWNER,
      ...at("/sum", sql, yaml),
      ...add("invalidate-on-write"),
    });
    for (const n of [30, 31, 32]) {
      // A result cache has rows of its own, which this write does not change.
      const expected = name === "with a result cache of its own" ? 30 : n;
      for (const _ of [1, 2, 3, 4]) expect(await rowsAt(service, "/sum")).toMatchObject({ rows: [{ n: expected }] });
      expect(await post(service, "/add")).toBe(200);
    }
  });

  test("other rows do not show before a refresh, and do after it", async () => {
    await using service = await serviceFrom({
      "eider.yaml": MAIN,
      ...OWNER,
      ...at("/sum", SUM),
      ...at("/quiet", "INSERT INTO orders VALUES (200, 1, 'new')", "", "POST"),
      ...add("refresh-on-write"),
    });
    expect(await rowsAt(service, "/sum")).toMatchObject({ rows: [{ n: 30 }] });
    expect(await post(service, "/quiet")).toBe(200);
    expect(await rowsAt(service, "/sum")).toMatchObject({ rows: [{ n: 30 }] });
    expect(await post(service, "/add")).toBe(200);
    expect(await rowsAt(service, "/sum")).toMatchObject({ rows: [{ n: 32 }] });
  });

  test("rows and total come from one snapshot, while refreshes go on", async () => {
    await using service = await serviceFrom({
      "eider.yaml": MAIN,
      ...at("/owner", `FROM ${TABLE}`, "cache: { table: runs, template-file: runs.sql }\n"),
      "runs.sql": "SELECT range AS id, '{{cache.snapshotId}}' AS run FROM range(5000)",
      "page.yaml": "url-path: /page\ntemplate-source: page.sql\nconnection: [db]\n",
      "page.sql": "SELECT run, count(*) OVER (PARTITION BY run)::INTEGER AS n FROM cache.cache.runs",
      ...at("/again", "SELECT 1", "cache: { table: runs, refresh-on-write: true }\n", "POST"),
    });
    const refreshing = (async () => {
      for (const _ of Array.from({ length: 8 })) expect(await post(service, "/again")).toBe(200);
    })();
    for (const _ of Array.from({ length: 20 })) {
      const page = (await service.json("/page?limit=5000")) as {
        total_count: number;
        data: { run: string; n: number }[];
      };
      expect([page.total_count, new Set(page.data.map(({ run, n }) => `${run === page.data[0]?.run} ${n}`))]).toEqual([
        5000,
        new Set(["true 5000"]),
      ]);
    }
    await refreshing;
  });

  test("the ETag of one that has its own table too changes with either", async () => {
    await using service = await serviceFrom({
      "eider.yaml": MAIN,
      ...OWNER,
      ...at(
        "/both",
        `SELECT (SELECT count(*) FROM ${TABLE})::INTEGER AS own, (${SUM}) AS other`,
        "cache: { table: own, template-file: own.sql }\n",
      ),
      "own.sql": "SELECT id FROM orders",
      ...add("refresh-on-write"),
    });
    const first = await service.get("/both");
    expect(await first.json()).toEqual([{ own: 30, other: 30 }]);
    const known = { "If-None-Match": first.headers.get("etag") ?? "" };
    expect((await service.get("/both", known)).status).toBe(304);
    expect(await post(service, "/add")).toBe(200);
    const second = await service.get("/both", known);
    expect([second.status, await second.json()]).toEqual([200, [{ own: 30, other: 31 }]]);
  });

  test("in a catalog with another name", async () => {
    await using service = await serviceFrom({
      "eider.yaml": `${MAIN}ducklake: { alias: lake }\n`,
      ...OWNER,
      ...at("/sum", SUM.replace("cache.", "lake.")),
      ...at("/record", "SELECT status FROM lake.audit.refreshes"),
    });
    expect(await rowsAt(service, "/sum")).toMatchObject({ rows: [{ n: 30 }] });
    expect(await rowsAt(service, "/record")).toMatchObject({ rows: [{ status: "ok" }] });
  });

  test("a write reads it too", async () => {
    await using service = await serviceFrom({
      "eider.yaml": MAIN,
      ...OWNER,
      ...at("/copy", "INSERT INTO orders SELECT n, 9, 'copied' FROM cache.shop.totals", "", "POST"),
      ...at("/copied", "SELECT count(*)::INTEGER AS n FROM orders WHERE region = 9"),
    });
    expect(await post(service, "/copy")).toBe(200);
    expect(await rowsAt(service, "/copied")).toMatchObject({ rows: [{ n: 3 }] });
  });

  test.each([1, 2])("a refresh reads it too, with room for %i refreshes at a time", async (room) => {
    await using service = await serviceFrom({
      "eider.yaml": `${MAIN}cache: { max-concurrent-refreshes: ${room} }\n`,
      ...OWNER,
      ...at("/b", `FROM ${TABLE}`, "cache: { table: b, template-file: b.sql }\n"),
      "b.sql": "SELECT n + 1 AS n FROM cache.cache.a",
      ...at("/a", `FROM ${TABLE}`, "cache: { table: a, template-file: a.sql }\n"),
      "a.sql": "SELECT sum(n)::INTEGER AS n FROM cache.shop.totals",
    });
    expect(await rowsAt(service, "/b")).toMatchObject({ cache: "miss", rows: [{ n: 31 }] });
    expect(await rowsAt(service, "/a")).toMatchObject({ cache: "hit" });
  });

  test("an MCP tool reads it, with and without a cache block", async () => {
    const tool = (name: string, sql: string, yaml = ""): Files => ({
      [`${name}.yaml`]: `mcp-tool: { name: ${name}, description: totals }\ntemplate-source: ${name}.sql\nconnection: [db]\n${yaml}`,
      [`${name}.sql`]: sql,
    });
    await using product = await openTestEndpoints({
      "eider.yaml": `${MAIN}mcp: { enabled: true }\n`,
      ...OWNER,
      ...tool("named", SUM),
      ...tool("shared", SUM, "cache: { table: totals, schema: shop }\n"),
    });
    for (const name of ["named", "shared"]) {
      expect((await product.call(name)).text).toContain('"n":30');
    }
  });

  test("that no template fills is a problem", async () => {
    const problems = await problemsFrom({
      "eider.yaml": MAIN,
      ...OWNER,
      ...at("/x", "SELECT * FROM cache.shop.nothing"),
    });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/^get-x\.sql:1:15: .*nothing/);
  });
});

describe("cache.audit.refreshes", () => {
  const RECORD = at("/record", "SELECT table_name, status FROM cache.audit.refreshes");

  test.each([
    ["before the first refresh", OWNER],
    ["in a project with a result cache", at("/x", "SELECT 1 AS n", "cache: { table: x }\n")],
    ["in a project without a cache", {}],
  ])("is there %s", async (_, files) => {
    await using service = await serviceFrom({ "eider.yaml": MAIN, ...files, ...RECORD });
    expect(await rowsAt(service, "/record")).toMatchObject({ status: 200, rows: [] });
  });
});

describe("templates over a cache table are planned", () => {
  const STATUS =
    "request: [{ field-name: status, field-in: query, validators: [{ type: enum, allowedValues: [new, paid] }] }]\n";

  test.each([
    ["its own", `SELECT n FROM ${TABLE} WHERE status = {{params.status}}`, "cache: { table: totals, schema: shop }\n"],
    ["one that it names", "SELECT n FROM cache.shop.totals WHERE status = {{params.status}}", ""],
  ])("a bare enum is a value: %s", async (_, sql, yaml) => {
    await using service = await serviceFrom({ "eider.yaml": MAIN, ...OWNER, ...at("/x", sql, STATUS + yaml) });
    expect(await rowsAt(service, "/x?status=paid")).toMatchObject({ rows: [{ n: 10 }] });
  });

  test("a bare enum is still a column where it is one", async () => {
    await using service = await serviceFrom({
      "eider.yaml": MAIN,
      ...OWNER,
      ...at(
        "/x",
        `SELECT region FROM ${TABLE} ORDER BY {{params.by}} DESC LIMIT 1`,
        "request: [{ field-name: by, field-in: query, validators: [{ type: enum, allowedValues: [n, region] }] }]\ncache: { table: totals, schema: shop }\n",
      ),
    });
    expect(await rowsAt(service, "/x?by=region")).toMatchObject({ rows: [{ region: 2 }] });
  });

  test("the columns are in the OpenAPI document before the first refresh", async () => {
    await using service = await serviceFrom({ "eider.yaml": MAIN, ...OWNER, ...at("/sum", SUM) });
    const document = JSON.stringify(await service.json("/openapi.json"));
    expect(document).toContain('"region"');
  });

  test.each([
    [
      "CREATE OR REPLACE TABLE and INSERT",
      `CREATE OR REPLACE TABLE ${TABLE} AS SELECT region FROM orders; INSERT INTO ${TABLE} SELECT 9`,
    ],
    [
      "CREATE IF NOT EXISTS and MERGE",
      `CREATE TABLE IF NOT EXISTS ${TABLE} (region BIGINT); MERGE INTO ${TABLE} AS t USING (SELECT DISTINCT region FROM orders) AS s ON t.region = s.region WHEN NOT MATCHED THEN INSERT VALUES (s.region)`,
    ],
    [
      "DROP, CREATE and ALTER",
      `DROP TABLE IF EXISTS ${TABLE}; CREATE TABLE ${TABLE} AS SELECT id FROM orders; ALTER TABLE ${TABLE} RENAME id TO region`,
    ],
    [
      "a temporary table first",
      `CREATE TEMP TABLE t AS SELECT region FROM orders; CREATE OR REPLACE TABLE ${TABLE} AS FROM t`,
    ],
  ])("a template that changes the table itself: %s", async (_, refresh) => {
    const files = {
      "eider.yaml": MAIN,
      "own.sql": refresh,
      ...at(
        "/x",
        `SELECT count(region)::INTEGER > 0 AS some FROM ${TABLE}`,
        "cache: { table: own, template-file: own.sql }\n",
      ),
    };
    await using service = await serviceFrom(files);
    expect(await rowsAt(service, "/x")).toMatchObject({ rows: [{ some: true }] });
    const wrong = {
      ...files,
      ...at("/x", `SELECT regoin FROM ${TABLE}`, "cache: { table: own, template-file: own.sql }\n"),
    };
    expect(await problemsFrom(wrong)).toEqual([expect.stringMatching(/^get-x\.sql:1:8: .*"regoin" not found/)]);
  });

  test("a refresh that names a table like its own finds the right one", async () => {
    await using service = await serviceFrom({
      "eider.yaml": MAIN,
      ...at(
        "/orders",
        `SELECT count(*)::INTEGER AS n FROM ${TABLE}`,
        "cache: { table: orders, template-file: o.sql }\n",
      ),
      "o.sql": `SELECT id, status FROM orders {{#cache.previousSnapshotId}}WHERE region > (SELECT max(id) FROM ${TABLE}){{/cache.previousSnapshotId}}`,
    });
    expect(await rowsAt(service, "/orders")).toMatchObject({ rows: [{ n: 30 }] });
  });

  test("by their first call, when the data source was down at startup", async () => {
    await using folder = await folderWith({});
    const file = join(folder.path, "late.csv");
    const late = (files: Files): Files =>
      Object.fromEntries(Object.entries(files).map(([name, text]) => [name, text.replace("[db]", "[late]")]));
    await using service = await serviceFrom(
      {
        "eider.yaml": `${MAIN}  late: { init: "CREATE TABLE late AS FROM '\${FILE}'" }\ntemplate: { environment-whitelist: [FILE] }\n`,
        ...late(
          at(
            "/own",
            `SELECT n FROM ${TABLE} WHERE status = {{params.status}}`,
            `${STATUS}cache: { table: l, template-file: l.sql }\n`,
          ),
        ),
        "l.sql": "SELECT status, n FROM late",
        ...at("/named", "SELECT n FROM cache.cache.l WHERE status = {{params.status}}", STATUS),
        ...at("/wrong", "SELECT m FROM cache.cache.l"),
      },
      { FILE: file },
    );
    const statuses = async () =>
      Promise.all(["/own?status=paid", "/named?status=paid"].map(async (path) => (await service.get(path)).status));
    expect(await statuses()).toEqual([503, 503]);
    await writeFile(file, "status,n\nnew,1\npaid,2\n");
    expect(await statuses()).toEqual([200, 200]);
    for (const path of ["/own", "/named"]) {
      expect(await rowsAt(service, `${path}?status=paid`)).toMatchObject({ rows: [{ n: 2 }] });
    }
    expect(await rowsAt(service, "/wrong")).toMatchObject({ status: 500 });
  });

  test("names without the catalog mean the cache table", async () => {
    const short = "{{cache.schema}}.{{cache.table}}";
    await using service = await serviceFrom({
      "eider.yaml": MAIN,
      ...at(
        "/x",
        `SELECT count(*)::INTEGER AS n FROM ${short}`,
        "cache: { table: x, schema: shop, template-file: x-refresh.sql }\n",
      ),
      "x-refresh.sql": `CREATE OR REPLACE TABLE ${short} AS SELECT id FROM orders`,
    });
    expect(await rowsAt(service, "/x")).toMatchObject({ rows: [{ n: 30 }] });
  });

  test("a template that does not read the table that it fills reads its source", async () => {
    await using service = await serviceFrom({
      "eider.yaml": MAIN,
      ...at(
        "/x",
        "SELECT count(*)::INTEGER AS n FROM orders",
        "cache: { table: x, schedule: 1h, template-file: get-x.sql }\n",
      ),
      ...at("/add", "INSERT INTO orders VALUES (100, 0, 'new')", "", "POST"),
    });
    const first = await service.get("/x");
    expect([first.headers.get("x-cache"), await first.json()]).toEqual([null, [{ n: 30 }]]);
    expect(await post(service, "/add")).toBe(200);
    const second = await service.get("/x", { "If-None-Match": first.headers.get("etag") ?? "" });
    expect([second.status, await second.json()]).toEqual([200, [{ n: 31 }]]);
    expect(service.problems).toEqual([
      expect.stringMatching(/^get-x\.yaml:6:1: warning: cache: the template does not read/),
    ]);
  });

  test("sections of params and auth in a refresh are never set", async () => {
    await using service = await serviceFrom({
      "eider.yaml": MAIN,
      ...at("/x", `SELECT count(*)::INTEGER AS n FROM ${TABLE}`, "cache: { table: x, template-file: r.sql }\n"),
      "r.sql":
        "SELECT id FROM orders WHERE true {{#params.id}}AND id = {{params.id}}{{/params.id}} {{^params.id}}AND id < 20{{/params.id}} {{#auth.username}}AND false{{/auth.username}}",
    });
    expect(await rowsAt(service, "/x")).toMatchObject({ rows: [{ n: 20 }] });
    expect(service.problems).toEqual([
      expect.stringMatching(/^r\.sql:1:34: warning: 'params\.id' is never set in a refresh/),
      expect.stringMatching(/^r\.sql:1:\d+: warning: 'params\.id' is never set in a refresh/),
      expect.stringMatching(/^r\.sql:1:\d+: warning: 'auth\.username' is never set in a refresh/),
    ]);
  });
});
