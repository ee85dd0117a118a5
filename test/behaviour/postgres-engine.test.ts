import { describe, expect } from "vitest";
import { testNeeding } from "../needing.ts";
import { missingPostgres, sharedPostgres } from "../postgres.ts";
import { postgresConnection, serveOverPostgres } from "../postgres-engine.ts";
import { endpoint, type Files, problemsFrom } from "../service.ts";
import { until } from "../until.ts";

const test = testNeeding(missingPostgres);
const server = sharedPostgres();

const ID = "request: [{ field-name: id, field-in: query, validators: [{ type: int }] }]\n";
const NAME = "request: [{ field-name: name, field-in: query }]\n";
const ALL = "with-pagination: false\n";
const PEOPLE =
  "CREATE TABLE people (id int PRIMARY KEY, name text NOT NULL); INSERT INTO people SELECT i, 'n' || i FROM generate_series(1, 25) i";

/** How many sessions of Eider run a statement that contains this text. */
const RUNNING = (text: string): string =>
  `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'eider' AND state = 'active' AND query LIKE '%${text}%'`;

describe("rows", () => {
  test("a look-up by key", async () => {
    await using service = await serveOverPostgres(await server(), {
      setup: PEOPLE,
      files: endpoint("SELECT * FROM people WHERE id = {{params.id}}", ID + ALL),
    });
    expect(await service.json("/x?id=1")).toEqual([{ id: 1, name: "n1" }]);
    expect(await service.json("/x?id=3000000000")).toEqual([]);
    expect((await service.get("/x?id=1;drop table people")).status).toBe(400);
  });

  for (const [window, sql] of [
    ["appended", "SELECT id FROM people ORDER BY id DESC -- all"],
    ["cut off, because the query has its own", "SELECT id FROM people ORDER BY id DESC LIMIT 1000"],
    ["from several statements", "CREATE TEMP TABLE p AS SELECT id FROM people; SELECT id FROM p ORDER BY id DESC"],
  ] as const) {
    test(`pages and totals, with the window ${window}`, async () => {
      await using service = await serveOverPostgres(await server(), { setup: PEOPLE, files: endpoint(sql) });
      const page = async (query: string) => {
        const { data, total_count } = (await service.json(`/x?${query}`)) as Page;
        return [data.map(({ id }) => id), total_count];
      };
      expect(await page("limit=3")).toEqual([[25, 24, 23], 25]);
      expect(await page("limit=3&offset=3")).toEqual([[22, 21, 20], 25]);
      expect(await page("limit=3&offset=24")).toEqual([[1], 25]);
      expect(await page("limit=3&offset=30")).toEqual([[], 25]);
      expect(await page("limit=100")).toEqual([Array.from({ length: 25 }, (_, i) => 25 - i), 25]);
      expect(await page("limit=3")).toEqual([[25, 24, 23], 25]);
    });
  }

  test("statements that cannot be a sub-query have pages and totals too", async () => {
    await using service = await serveOverPostgres(await server(), { setup: PEOPLE, files: endpoint("SHOW TimeZone") });
    expect(await service.json("/x?limit=1")).toMatchObject({ data: [{ TimeZone: "UTC" }], total_count: 1 });
    expect(await service.json("/x?limit=1&offset=1")).toMatchObject({ data: [], total_count: 1 });
  });

  test("a page and its total come from one snapshot", async () => {
    const postgres = await server();
    await using service = await serveOverPostgres(postgres, {
      setup: `${PEOPLE}; CREATE FUNCTION seen() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT count(*) FROM people'`,
      files: endpoint("SELECT seen() AS seen, pg_sleep(0.001) IS NULL AS slept, id FROM people"),
    });
    await service.json("/x?limit=2");
    let isAdding = true;
    const adding = (async () => {
      for (let id = 100; isAdding; id++) await postgres.sql(service.dsn, `INSERT INTO people VALUES (${id}, 'x')`);
    })();
    for (let i = 0; i < 10; i++) {
      const { data, total_count } = (await service.json("/x?limit=2")) as Page;
      expect(data.map(({ seen }) => seen)).toEqual([total_count, total_count]);
    }
    isAdding = false;
    await adding;
  });

  test("a long result streams: the server waits for a slow client, and memory stays bounded", async () => {
    const postgres = await server();
    await using service = await serveOverPostgres(postgres, {
      files: endpoint("SELECT i, repeat('x', 1000) AS t FROM generate_series(1, 60000) i /* long */", ALL),
    });
    const response = await service.get("/x?format=ndjson");
    if (response.status !== 200) throw new Error(await response.text());
    const reader = response.body?.getReader();
    await reader?.read();
    // It cannot have sent everything: 60 MB do not fit into the buffers.
    expect(await postgres.sql(service.dsn, RUNNING("/* long */"))).toBe("1");
    let lines = 0;
    let read = await reader?.read();
    for (; read?.done === false; read = await reader?.read())
      lines += Buffer.from(read.value).toString().split("\n").length - 1;
    expect(lines).toBeGreaterThan(59_000);
    expect(process.memoryUsage().rss).toBeLessThan(1_500_000_000);
  });

  test("`returns: one`", async () => {
    await using service = await serveOverPostgres(await server(), {
      setup: PEOPLE,
      files: endpoint("SELECT name FROM people WHERE id = {{params.id}}", `${ID}returns: one\n`),
    });
    expect(await service.json("/x?id=7")).toEqual({ name: "n7" });
    expect((await service.get("/x?id=77")).status).toBe(404);
  });

  test("a read cannot write, even through a function", async () => {
    const postgres = await server();
    await using service = await serveOverPostgres(postgres, {
      setup: `${PEOPLE}; CREATE FUNCTION add() RETURNS int LANGUAGE sql AS 'INSERT INTO people VALUES (99, ''x'') RETURNING id'`,
      files: endpoint("SELECT add() AS id"),
    });
    const response = await service.get("/x");
    expect([response.status, await response.text()]).toEqual([500, expect.stringContaining("read-only transaction")]);
    expect(await postgres.sql(service.dsn, "SELECT count(*) FROM people")).toBe("25");
  });
});

interface Page {
  readonly data: readonly Readonly<Record<string, unknown>>[];
  readonly total_count: number;
}

describe("values", () => {
  /** Each place needs another type, which the server infers or the value has. */
  const PLACES = [
    "SELECT {{params.name}} AS v",
    "SELECT '{{{params.name}}}' AS v",
    "SELECT concat({{params.name}}, '') AS v",
    "SELECT coalesce({{params.name}}, 'none') AS v",
    "SELECT upper({{params.name}}) AS v WHERE {{params.name}} IS NOT NULL",
    "SELECT jsonb_build_object('v', {{params.name}}) AS v",
    "SELECT v FROM (VALUES ({{params.name}}::text)) t(v) WHERE v LIKE '%{{{params.name}}}%'",
  ];
  const HOSTILE = [
    "O'Brien",
    "a\\'b",
    "\\",
    "'; DROP TABLE people; --",
    "$1 $$x$$ ?",
    'a"b',
    "/* -- */",
    "é😀\u2028",
    "%_",
    "",
    "{a,b}",
    "x".repeat(4000),
  ];

  test("any string is a value at every place", async () => {
    const postgres = await server();
    await using service = await serveOverPostgres(postgres, {
      setup: PEOPLE,
      files: Object.assign(
        {},
        ...PLACES.map(
          (sql, index): Files => ({
            [`x${index}.yaml`]: `url-path: /x${index}\ntemplate-source: x${index}.sql\nconnection: [memory]\n${NAME}${ALL}`,
            [`x${index}.sql`]: sql,
          }),
        ),
      ),
    });
    for (const index of PLACES.keys()) {
      for (const value of HOSTILE) {
        const response = await service.get(`/x${index}?name=${encodeURIComponent(value)}`);
        expect([PLACES[index], value, response.status]).toEqual([PLACES[index], value, 200]);
        const rows = (await response.json()) as readonly { readonly v: unknown }[];
        if (index < 3 && value !== "") expect(rows).toEqual([{ v: value }]);
      }
      const bad = await service.get(`/x${index}?name=a%00b`);
      expect([PLACES[index], bad.status]).toEqual([PLACES[index], 400]);
    }
    expect(await postgres.sql(service.dsn, "SELECT count(*) FROM people")).toBe("25");
  });

  test("4 MB are bound as any other value", async () => {
    await using service = await serveOverPostgres(await server(), {
      files: endpoint(
        "SELECT length({{params.name}}) AS n, {{params.name}} AS v",
        "method: POST\noperation: { type: read }\nrequest: [{ field-name: name, field-in: body }]\nwith-pagination: false\n",
      ),
    });
    const name = "é'".repeat(1_000_000);
    const response = await service.request("/x", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name }),
    });
    if (response.status === 413) return;
    expect(await response.json()).toEqual([{ n: 2_000_000, v: name }]);
  });

  for (const [type, condition] of [
    ["date", "d = {{params.name}}"],
    ["integer", "n = {{params.name}}"],
    ["uuid", "u = {{params.name}}"],
    ["enum", "m = {{params.name}}"],
    ["jsonb", "j @> {{params.name}}"],
    ["array", "a = {{params.name}}"],
    ["any", "n = ANY ({{params.name}})"],
    ["limit", "true LIMIT {{params.name}}"],
    ["date literal", "d = DATE '{{{params.name}}}'"],
    ["boolean", "b = {{params.name}}"],
  ] as const) {
    test(`a string that is no ${type} is a mistake of the client`, async () => {
      await using service = await serveOverPostgres(await server(), {
        setup:
          "CREATE TYPE mood AS ENUM ('sad'); CREATE TABLE t (d date, n int, u uuid, m mood, j jsonb, a int[], b boolean)",
        files: endpoint(`SELECT 1 AS one FROM t WHERE ${condition}`, NAME + ALL),
      });
      const response = await service.get("/x?name=no'no");
      expect([response.status, await response.text()]).toEqual([400, expect.not.stringContaining("no'no")]);
    });
  }

  test("typed values fit functions, operators and columns", async () => {
    const places: readonly (readonly [string, unknown])[] = [
      ["substring('abcdef', {{params.id}})", "cdef"],
      ["repeat('x', {{params.id}})", "xxx"],
      ["{{params.id}} + {{params.id}}", 6],
      ["date '2024-01-01' + {{params.id}}", "2024-01-04"],
      ["round(1.23456, {{params.id}})", 1.235],
      ["to_char({{params.id}}, '000')", " 003"],
      ["json_build_array({{params.id}})", [3]],
      ["{{params.id}} IS NULL", false],
      ["'{\"a\": [1]}'::jsonb ? 'a'", true],
    ];
    await using service = await serveOverPostgres(await server(), {
      files: Object.assign(
        {},
        ...places.map(
          ([sql], index): Files => ({
            [`x${index}.yaml`]: `url-path: /x${index}\ntemplate-source: x${index}.sql\nconnection: [memory]\n${ID}${ALL}`,
            [`x${index}.sql`]: `SELECT ${sql} AS v`,
          }),
        ),
      ),
    });
    for (const [index, [sql, v]] of places.entries()) {
      expect([sql, await service.json(`/x${index}?id=3`)]).toEqual([sql, [{ v }]]);
    }
  });
});

describe("failures", () => {
  test("a template rejects a request", async () => {
    await using service = await serveOverPostgres(await server(), {
      setup:
        "CREATE FUNCTION refuse(code text, message text) RETURNS int LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION USING ERRCODE = code, MESSAGE = message; END'",
      files: {
        ...endpoint("SELECT refuse('P0001', '403: not yours')"),
        "y.yaml": "url-path: /y\ntemplate-source: y.sql\nconnection: [memory]\n",
        "y.sql": "SELECT refuse('PT418', 'a teapot')",
      },
    });
    const [x, y] = await Promise.all(["/x", "/y"].map((path) => service.get(path)));
    expect([x?.status, await x?.text()]).toEqual([403, expect.stringContaining("not yours")]);
    expect([y?.status, await y?.text()]).toEqual([418, expect.stringContaining("a teapot")]);
  });

  test("an error at run time is 500, with its place", async () => {
    await using service = await serveOverPostgres(await server(), {
      files: endpoint("SELECT 1 / ({{params.id}} - 1) AS v", ID),
    });
    const response = await service.get("/x?id=1");
    expect([response.status, await response.text()]).toEqual([500, expect.stringContaining("division by zero")]);
  });

  test("problems of a project, with their places", async () => {
    const postgres = await server();
    const dsn = await postgres.createDatabase();
    await postgres.sql(dsn, PEOPLE);
    const problems = await problemsFrom({
      "eider.yaml": postgresConnection(postgres, dsn),
      ...endpoint("SELECT '😀',\n  nme FROM people"),
      "y.yaml": "url-path: /y\ntemplate-source: y.sql\nconnection: [memory]\n",
      "y.sql": "SELECT * FROM peoples",
      "z.yaml": "url-path: /z\ntemplate-source: z.sql\nconnection: [memory]\n",
      "z.sql": "SELECT FROM FROM people",
      "w.yaml": "url-path: /w\ntemplate-source: w.sql\nconnection: [memory]\n",
      "w.sql": "WITH gone AS (DELETE FROM people RETURNING *) SELECT * FROM gone",
    });
    expect(problems.sort()).toEqual([
      expect.stringMatching(/^w.sql:.*DELETE/),
      'x.sql:2:3: column "nme" does not exist',
      'y.sql:1:15: relation "peoples" does not exist',
      'z.sql:1:13: syntax error at or near "FROM"',
    ]);
  });

  test("the OpenAPI document knows the columns", async () => {
    await using service = await serveOverPostgres(await server(), {
      setup: PEOPLE,
      files: endpoint("SELECT id, name, sum(id) OVER () AS total FROM people WHERE id = {{params.id}}", ID),
    });
    const text = await (await service.get("/openapi.json")).text();
    expect(text).toContain('"total"');
    expect(text).toContain("int32");
  });

  test("a timeout and a disconnected client stop the query in the server", async () => {
    const postgres = await server();
    await using service = await serveOverPostgres(postgres, {
      more: "limits: { query-timeout: 1s }\n",
      files: {
        ...endpoint("SELECT pg_sleep(600) /* limited */"),
        "y.yaml": "url-path: /y\ntemplate-source: y.sql\nconnection: [memory]\n",
        "y.sql": "SELECT pg_sleep(600) /* left */",
      },
    });
    const gone = new AbortController();
    const left = service.request("/y", { signal: gone.signal }).catch(() => undefined);
    await until("the query to run", async () => (await postgres.sql(service.dsn, RUNNING("/* left */"))) === "1");
    gone.abort();
    await left;
    await until("the query to stop", async () => (await postgres.sql(service.dsn, RUNNING("/* left */"))) === "0");
    expect((await service.get("/x")).status).toBe(504);
    await until("the query to stop", async () => (await postgres.sql(service.dsn, RUNNING("/* limited */"))) === "0");
  });

  test("a client that leaves in the middle of a long response stops the query", async () => {
    const postgres = await server();
    await using service = await serveOverPostgres(postgres, {
      files: endpoint("SELECT i, repeat('x', 1000) AS t FROM generate_series(1, 10000000) i /* cut */", ALL),
    });
    const gone = new AbortController();
    const response = await service.request("/x?format=csv", { signal: gone.signal });
    await response.body?.getReader().read();
    gone.abort();
    await until("the query to stop", async () => (await postgres.sql(service.dsn, RUNNING("/* cut */"))) === "0");
    expect((await service.get("/health")).status).toBe(200);
  });
});

describe("the server", () => {
  test("is down, and back: 503, then everything works again", async () => {
    const postgres = await server();
    await using service = await serveOverPostgres(postgres, {
      setup: PEOPLE,
      files: endpoint("SELECT count(*) AS n FROM people", ALL),
    });
    expect(await service.json("/x")).toEqual([{ n: 25 }]);
    await postgres.kill();
    const down = await service.get("/x");
    expect([down.status, down.headers.get("retry-after")]).toEqual([503, expect.stringMatching(/^\d+$/)]);
    await postgres.restart();
    expect(await service.json("/x")).toEqual([{ n: 25 }]);
  });

  test("is down when Eider starts: templates are checked when it is back", async () => {
    const postgres = await server();
    const dsn = await postgres.createDatabase();
    await postgres.sql(dsn, PEOPLE);
    await postgres.kill();
    const files = endpoint("SELECT count(*) AS n FROM people", ALL);
    const problems = await problemsFrom({ "eider.yaml": postgresConnection(postgres, dsn), ...files }).finally(
      postgres.restart,
    );
    expect(problems).toEqual([expect.stringMatching(/connection 'memory' cannot be reached: .*ECONNREFUSED/)]);
  });

  test("never shows the password", async () => {
    const postgres = await server();
    const problems = await problemsFrom({
      "eider.yaml": postgresConnection(postgres, "dbname=absent").replace(/password: .*/, 'password: "wrong secret"'),
      ...endpoint("SELECT 1"),
    });
    expect(problems).toEqual([expect.stringContaining("password authentication failed")]);
    expect(problems.join()).not.toContain("wrong secret");
  });

  test("runs init on each connection, in the named schema", async () => {
    const postgres = await server();
    await using service = await serveOverPostgres(postgres, {
      setup: "CREATE SCHEMA shop; CREATE TABLE shop.t AS SELECT 1 AS one",
      more: "    schema: shop\n    init: \"SET statement_timeout = '7s'; SET eider.x = 'a;b'\"\n    pool: 2\n",
      files: endpoint(
        "SELECT one, current_setting('statement_timeout') AS s, current_setting('eider.x') AS x FROM t",
        ALL,
      ),
    });
    const all = await Promise.all(Array.from({ length: 8 }, () => service.json("/x")));
    expect(all).toEqual(all.map(() => [{ one: 1, s: "7s", x: "a;b" }]));
    const sessions =
      "SELECT count(*) <= 2 FROM pg_stat_activity WHERE application_name = 'eider' AND datname = current_database()";
    expect(await postgres.sql(service.dsn, sessions)).toBe("t");
  });

  test("works without prepared statements and session settings, as behind a pooler", async () => {
    await using service = await serveOverPostgres(await server(), {
      setup: PEOPLE,
      more: "    prepared: false\n",
      files: endpoint(
        "SELECT id, current_setting('TimeZone') AS zone FROM people WHERE id > {{params.id}} ORDER BY id",
        ID,
      ),
    });
    expect(await service.json("/x?id=23&limit=1")).toMatchObject({ data: [{ id: 24, zone: "UTC" }], total_count: 2 });
    expect(await service.json("/x?id=23&limit=1&offset=1")).toMatchObject({ data: [{ id: 25 }], total_count: 2 });
  });
});
