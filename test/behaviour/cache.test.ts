import { describe, expect, test } from "vitest";
import { sendRequest } from "../ask.ts";
import { type Files, serviceFrom, type TestService } from "../service.ts";

const MAIN = `connections:
  db:
    init: |
      CREATE TABLE IF NOT EXISTS orders AS SELECT range AS id, range % 3 AS region, TIMESTAMP '2024-01-01' + INTERVAL (range) HOUR AS moment FROM range(30);
`;

/** An endpoint over `db`, with further YAML. */
const at = (path: string, sql: string, yaml = "", method = "GET"): Files => {
  const file = `${method}-${path}`.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  return {
    [`${file}.yaml`]: `url-path: ${path}\nmethod: ${method}\ntemplate-source: ${file}.sql\nconnection: [db]\nwith-pagination: false\n${yaml}`,
    [`${file}.sql`]: sql,
  };
};

const TABLE = "{{cache.catalog}}.{{cache.schema}}.{{cache.table}}";
const TOTALS: Files = {
  ...at(
    "/totals",
    `SELECT region, n, run FROM ${TABLE} ORDER BY region ASC`,
    "cache: { table: totals, template-file: totals-refresh.sql }\n",
  ),
  "totals-refresh.sql":
    "SELECT region, count(*)::INTEGER AS n, gen_random_uuid()::VARCHAR AS run FROM orders GROUP BY region",
};
const ADD = at(
  "/add",
  "INSERT INTO orders VALUES ({{params.id}}, 0, now())",
  "request: [{ field-name: id, field-in: query, validators: [{ type: int }] }]\n",
  "POST",
);

const post = async (service: TestService, path: string): Promise<number> =>
  (await service.request(path, { method: "POST" })).status;
const read = async (service: TestService, path: string, headers = {}) => {
  const answer = await service.get(path, headers);
  return {
    status: answer.status,
    cache: answer.headers.get("x-cache"),
    rows: (await answer.json()) as Record<string, unknown>[],
    headers: answer.headers,
  };
};

describe("a table with a template-file", () => {
  test("the first read fills it, later ones read the same snapshot", async () => {
    await using service = await serviceFrom({ "eider.yaml": MAIN, ...TOTALS, ...ADD });
    const first = await read(service, "/totals");
    expect([first.status, first.cache]).toEqual([200, "miss"]);
    expect(first.rows.map(({ region, n }) => [region, n])).toEqual([
      [0, 10],
      [1, 10],
      [2, 10],
    ]);
    expect(await post(service, "/add?id=100")).toBe(200);
    for (const _ of [1, 2, 3, 4]) {
      const again = await read(service, "/totals");
      expect([again.cache, again.rows]).toEqual(["hit", first.rows]);
    }
  });

  test("many first reads share one fill", async () => {
    await using service = await serviceFrom({ "eider.yaml": MAIN, ...TOTALS });
    const all = await Promise.all(Array.from({ length: 20 }, () => read(service, "/totals")));
    expect(new Set(all.map(({ rows }) => JSON.stringify(rows))).size).toBe(1);
  });

  test("several endpoints share it, and people may name it directly", async () => {
    await using service = await serviceFrom({
      "eider.yaml": MAIN,
      ...TOTALS,
      ...at("/sum", `SELECT sum(n)::INTEGER AS n FROM ${TABLE}`, "cache: { table: totals }\n"),
      ...at(
        "/named",
        `SELECT count(*)::INTEGER AS n, '{{cache.snapshotId}}' AS id FROM ${TABLE}`,
        "cache: { table: totals }\n",
      ),
    });
    expect((await read(service, "/sum")).rows).toEqual([{ n: 30 }]);
    expect(await read(service, "/totals")).toMatchObject({ cache: "hit" });
    expect((await read(service, "/named")).rows).toEqual([{ n: 3, id: "1" }]);
  });

  test("a template that changes the table itself", async () => {
    const own = `CREATE TABLE IF NOT EXISTS ${TABLE} (id BIGINT, moment TIMESTAMP);
{{^cache.previousSnapshotTimestamp}}INSERT INTO ${TABLE} SELECT id, moment FROM orders;{{/cache.previousSnapshotTimestamp}}
{{#cache.previousSnapshotTimestamp}}INSERT INTO ${TABLE} SELECT id, moment FROM orders WHERE moment > TIMESTAMP '{{cache.previousSnapshotTimestamp}}';{{/cache.previousSnapshotTimestamp}}`;
    await using service = await serviceFrom({
      "eider.yaml": MAIN,
      ...at(
        "/own",
        `SELECT count(*)::INTEGER AS n, max(id) AS last FROM ${TABLE}`,
        "cache: { table: own, schema: mine, template-file: own-refresh.sql, cursor: { column: moment, type: timestamp } }\n",
      ),
      "own-refresh.sql": own,
      ...at(
        "/add",
        "INSERT INTO orders VALUES ({{params.id}}, 0, TIMESTAMP '2030-01-01' + INTERVAL ({{params.id}}) SECOND)",
        "request: [{ field-name: id, field-in: query, validators: [{ type: int }] }]\ncache: { table: own, schema: mine, refresh-on-write: true }\n",
        "POST",
      ),
    });
    expect((await read(service, "/own")).rows).toEqual([{ n: 30, last: 29 }]);
    expect(await post(service, "/add?id=77")).toBe(200);
    expect((await read(service, "/own")).rows).toEqual([{ n: 31, last: 77 }]);
    expect(await post(service, "/add?id=78")).toBe(200);
    expect((await read(service, "/own")).rows).toEqual([{ n: 32, last: 78 }]);
  });

  test.each(["append", "merge"])("%s by a cursor", async (mode) => {
    const key = mode === "merge" ? ", primary-key: [id]" : "";
    await using service = await serviceFrom({
      "eider.yaml": MAIN,
      ...at(
        "/rows",
        `SELECT id, region FROM ${TABLE} ORDER BY id ASC, region ASC`,
        `cache: { table: r, template-file: r.sql, cursor: { column: moment, type: timestamp }${key} }\n`,
      ),
      "r.sql":
        "SELECT id, region, moment FROM orders {{#cache.previousSnapshotTimestamp}}WHERE moment >= TIMESTAMP '{{cache.previousSnapshotTimestamp}}'{{/cache.previousSnapshotTimestamp}}",
      ...at(
        "/change",
        "UPDATE orders SET region = 9, moment = TIMESTAMP '2031-01-01' WHERE id = 3; INSERT INTO orders VALUES (50, 7, TIMESTAMP '2031-01-01')",
        "cache: { table: r, invalidate-on-write: true }\n",
        "POST",
      ),
    });
    expect((await read(service, "/rows")).rows).toHaveLength(30);
    expect(await post(service, "/change")).toBe(200);
    const { rows, cache } = await read(service, "/rows");
    expect(cache).toBe("miss");
    expect(rows.filter(({ id }) => id === 3)).toEqual(
      mode === "merge"
        ? [{ id: 3, region: 9 }]
        : [
            { id: 3, region: 0 },
            { id: 3, region: 9 },
          ],
    );
    expect(rows.filter(({ id }) => id === 50)).toEqual([{ id: 50, region: 7 }]);
    expect(rows).toHaveLength(mode === "merge" ? 31 : 32);
  });
});

describe("without a template-file", () => {
  const CACHED = "cache: { table: rows }\n";

  test("once per set of values; pages and formats come from one snapshot", async () => {
    await using service = await serviceFrom({
      "eider.yaml": MAIN,
      ...at(
        "/rows",
        "SELECT id, gen_random_uuid()::VARCHAR AS run FROM orders WHERE region = {{params.region}} ORDER BY id ASC",
        `${CACHED.replace("\n", "")}\nrequest:\n  - { field-name: region, field-in: query, validators: [{ type: int }] }\n`,
      ),
    });
    const first = await read(service, "/rows?region=1");
    expect([first.cache, first.rows.length]).toEqual(["miss", 10]);
    const page = await read(service, "/rows?region=1&limit=3&offset=2");
    expect([page.cache, page.rows]).toEqual(["hit", first.rows.slice(2, 5)]);
    const csv = await service.get("/rows?region=1&format=csv");
    expect(csv.headers.get("x-cache")).toBe("hit");
    expect((await csv.text()).split("\r\n")).toHaveLength(12);
    const other = await read(service, "/rows?region=2");
    expect([other.cache, other.rows[0]?.["id"]]).toEqual(["miss", 2]);
    const parquet = await service.get("/rows?region=1&format=parquet");
    expect([parquet.status, parquet.headers.get("x-cache")]).toEqual([200, "hit"]);
    await parquet.arrayBuffer();
  });

  test("nobody sees the rows of somebody else", async () => {
    const users =
      "auth: { type: basic, users: [{ username: ann, password: ann, roles: [a] }, { username: bob, password: bob, roles: [b] }] }\n";
    await using service = await serviceFrom({
      "eider.yaml": MAIN + users,
      ...at(
        "/mine",
        "SELECT '{{{auth.username}}}' AS owner, '{{{auth.roles}}}' AS roles, {{auth.username}} AS bare, count(*)::INTEGER AS n FROM orders",
        CACHED,
      ),
      ...at("/all", "SELECT gen_random_uuid()::VARCHAR AS run", "cache: { table: everybody }\n"),
    });
    const as = (name: string) => ({ Authorization: `Basic ${Buffer.from(`${name}:${name}`).toString("base64")}` });
    for (let time = 0; time < 3; time++) {
      for (const name of ["ann", "bob"]) {
        const { rows, cache } = await read(service, "/mine", as(name));
        expect([cache, rows]).toEqual([
          time === 0 ? "miss" : "hit",
          [{ owner: name, roles: name[0], bare: name, n: 30 }],
        ]);
      }
    }
    // What does not depend on the caller is shared.
    const first = await read(service, "/all", as("ann"));
    expect((await read(service, "/all", as("bob"))).rows).toEqual(first.rows);
  });

  test("paginated: the total and the pages of one snapshot", async () => {
    await using service = await serviceFrom({
      "eider.yaml": MAIN,
      ...at("/pages", "SELECT id FROM orders ORDER BY id DESC", CACHED),
      ...ADD,
    });
    const files = (await service.get("/pages?limit=2")).headers;
    expect(files.get("x-total-count")).toBeNull();
    await using paged = await serviceFrom({
      "eider.yaml": MAIN,
      ...ADD,
      "p.yaml": "url-path: /pages\ntemplate-source: p.sql\nconnection: [db]\ncache: { table: p }\n",
      "p.sql": "SELECT id FROM orders ORDER BY id DESC",
    });
    const first = (await (await paged.get("/pages?limit=2")).json()) as unknown;
    expect(first).toEqual({ data: [{ id: 29 }, { id: 28 }], next: "/pages?limit=2&offset=2", total_count: 30 });
    expect(await post(paged, "/add?id=1000")).toBe(200);
    expect(await (await paged.get("/pages?limit=2&offset=2")).json()).toMatchObject({
      data: [{ id: 27 }, { id: 26 }],
      total_count: 30,
    });
  });
});

describe("writes", () => {
  const CASES: readonly (readonly [string, Files])[] = [
    ["a table", TOTALS],
    [
      "results",
      at(
        "/totals",
        "SELECT region, count(*)::INTEGER AS n, gen_random_uuid()::VARCHAR AS run FROM orders GROUP BY region ORDER BY region ASC",
        "cache: { table: totals }\n",
      ),
    ],
  ];
  const write = (more: string) =>
    at(
      "/add",
      "INSERT INTO orders VALUES ({{params.id}}, 0, now())",
      `request: [{ field-name: id, field-in: query, validators: [{ type: int }] }]\ncache: { table: totals, ${more} }\n`,
      "POST",
    );

  test.each(CASES)("invalidate-on-write, %s: the next read refreshes, and waits", async (_, files) => {
    await using service = await serviceFrom({ "eider.yaml": MAIN, ...files, ...write("invalidate-on-write: true") });
    for (let n = 10; n < 14; n++) {
      for (const _again of [1, 2, 3]) expect((await read(service, "/totals")).rows[0]).toMatchObject({ n });
      expect(await post(service, `/add?id=${n}`)).toBe(200);
      const after = await read(service, "/totals");
      expect([after.cache, after.rows[0]?.["n"]]).toEqual(["miss", n + 1]);
    }
  });

  test.each(CASES)(
    "refresh-on-write, %s: the answer comes after the refresh, and reads find it done",
    async (_, files) => {
      await using service = await serviceFrom({ "eider.yaml": MAIN, ...files, ...write("refresh-on-write: true") });
      expect((await read(service, "/totals")).rows[0]).toMatchObject({ n: 10 });
      expect(await post(service, "/add?id=1")).toBe(200);
      const after = await read(service, "/totals");
      expect([after.cache, after.rows[0]?.["n"]]).toEqual(["hit", 11]);
    },
  );

  test("refresh-on-write makes no reader wait: until it is done they find the rows from before", async () => {
    const slow = "SELECT count(*)::INTEGER AS n, (SELECT sleep_ms(300))::VARCHAR AS s FROM orders";
    await using service = await serviceFrom({
      "eider.yaml": MAIN,
      ...at("/totals", `SELECT n FROM ${TABLE}`, "cache: { table: totals, template-file: t.sql }\n"),
      "t.sql": slow,
      ...write("refresh-on-write: true"),
    });
    expect((await read(service, "/totals")).rows).toEqual([{ n: 30 }]);
    let isDone = false;
    const writing = post(service, "/add?id=1").finally(() => {
      isDone = true;
    });
    let seen = 0;
    while (!isDone) {
      const { rows, cache } = await read(service, "/totals");
      if (isDone) break;
      expect(cache).toBe("hit");
      if (rows[0]?.["n"] === 30) seen++;
    }
    expect(await writing).toBe(200);
    expect(seen).toBeGreaterThan(0);
    expect((await read(service, "/totals")).rows).toEqual([{ n: 31 }]);
  });

  test("a write that fails leaves the cache as it was", async () => {
    await using service = await serviceFrom({
      "eider.yaml": MAIN,
      ...TOTALS,
      ...at(
        "/fail",
        "INSERT INTO orders VALUES (1, 0, now()); SELECT error('no')",
        "cache: { table: totals, invalidate-on-write: true }\n",
        "POST",
      ),
    });
    const { rows } = await read(service, "/totals");
    expect(await post(service, "/fail")).toBe(500);
    expect(await read(service, "/totals")).toMatchObject({ cache: "hit", rows });
  });

  test("a refresh that fails after a write does not fail the write, and the old rows stay", async () => {
    await using service = await serviceFrom({
      "eider.yaml": MAIN,
      ...at("/totals", `SELECT n FROM ${TABLE}`, "cache: { table: totals, template-file: t.sql }\n"),
      "t.sql": "SELECT CASE WHEN count(*) > 30 THEN error('too many') ELSE count(*)::VARCHAR END AS n FROM orders",
      ...write("refresh-on-write: true"),
    });
    expect((await read(service, "/totals")).rows).toEqual([{ n: "30" }]);
    expect(await post(service, "/add?id=1")).toBe(200);
    expect(await read(service, "/totals")).toMatchObject({ status: 200, cache: "stale", rows: [{ n: "30" }] });
    const ready = (await (await service.get("/health/ready")).json()) as unknown;
    expect(ready).toMatchObject({ status: "degraded", caches: ["cache.totals"] });
    expect(JSON.stringify(service.events)).toContain("too many");
  });
});

describe("HTTP", () => {
  test("ETag from the snapshot, 304, Age, Cache-Control from the schedule", async () => {
    await using service = await serviceFrom({
      "eider.yaml": MAIN,
      ...at("/totals", `SELECT n FROM ${TABLE}`, "cache: { table: totals, schedule: 10m, template-file: t.sql }\n"),
      "t.sql": "SELECT count(*)::INTEGER AS n FROM orders",
      ...at(
        "/add",
        "INSERT INTO orders VALUES (1, 0, now())",
        "cache: { table: totals, refresh-on-write: true }\n",
        "POST",
      ),
    });
    const first = await sendRequest(`${service.url}/totals`);
    expect([first.headers["cache-control"], first.headers.age, first.headers["x-cache"]]).toEqual([
      "max-age=600",
      "0",
      "miss",
    ]);
    const tag = first.headers.etag ?? "";
    expect(tag).toMatch(/^"[\w-]{22}"$/);
    for (const _ of [1, 2, 3]) {
      const again = await sendRequest(`${service.url}/totals`, { headers: { "If-None-Match": tag } });
      expect([again.status, again.body.length, again.headers.etag, again.headers["x-cache"]]).toEqual([
        304,
        0,
        tag,
        "hit",
      ]);
      expect(again.headers.age).toMatch(/^\d$/);
    }
    // Another page and another format are other answers.
    for (const path of ["/totals?limit=0", "/totals?format=csv"]) {
      const other = await sendRequest(service.url + path, { headers: { "If-None-Match": tag } });
      expect([other.status, other.headers.etag === tag]).toEqual([200, false]);
    }
    expect(await post(service, "/add")).toBe(200);
    const changed = await sendRequest(`${service.url}/totals`, { headers: { "If-None-Match": tag } });
    expect([changed.status, changed.body.toString()]).toEqual([200, '[{"n":31}]']);
    expect(changed.headers.etag).not.toBe(tag);
  });

  test("a client may ask for new rows only where it is allowed", async () => {
    const refresh = "SELECT gen_random_uuid()::VARCHAR AS run";
    await using service = await serviceFrom({
      "eider.yaml": MAIN,
      ...at("/allowed", `FROM ${TABLE}`, "cache: { table: a, template-file: r.sql, allow-client-refresh: true }\n"),
      ...at("/not", `FROM ${TABLE}`, "cache: { table: b, template-file: r.sql }\n"),
      ...at("/result", "SELECT gen_random_uuid()::VARCHAR AS run", "cache: { table: c, allow-client-refresh: true }\n"),
      "r.sql": refresh,
    });
    const now = { "Cache-Control": "no-cache" };
    for (const [path, changes] of [
      ["/allowed", true],
      ["/result", true],
      ["/not", false],
    ] as const) {
      const { rows } = await read(service, path);
      expect((await read(service, path)).rows).toEqual(rows);
      const newer = await read(service, path, now);
      expect([path, newer.rows[0]?.["run"] !== rows[0]?.["run"]]).toEqual([path, changes]);
      expect((await read(service, path)).rows).toEqual(newer.rows);
    }
  });

  test("private where the caller is known", async () => {
    await using service = await serviceFrom({
      "eider.yaml": `${MAIN}auth: { type: bearer, token: ${"x".repeat(32)} }\n`,
      ...at("/x", "SELECT 1 AS n", "cache: { table: x, schedule: 30s }\n"),
    });
    const answer = await service.get("/x", { Authorization: `Bearer ${"x".repeat(32)}` });
    expect(answer.headers.get("cache-control")).toBe("private, max-age=30");
  });
});

test("every refresh is on record", async () => {
  await using service = await serviceFrom({
    "eider.yaml": MAIN,
    ...TOTALS,
    ...at("/again", "SELECT 1", "cache: { table: totals, refresh-on-write: true }\n", "POST"),
    ...at("/record", "SELECT * EXCLUDE (started, duration_ms) FROM cache.audit.refreshes ORDER BY snapshot ASC"),
  });
  await read(service, "/totals");
  expect(await post(service, "/again")).toBe(200);
  const { rows } = await read(service, "/record");
  expect(rows).toMatchObject([
    { mode: "full", status: "ok", message: null, rows: 3, snapshot: 1 },
    { mode: "full", status: "ok", message: null, rows: 3, snapshot: 2 },
  ]);
});
