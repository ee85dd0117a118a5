import { tableFromIPC } from "apache-arrow";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Files, serviceFrom, type TestService } from "../service.ts";
import { bodyFields, INT, mainFile, outcome, send } from "./write-project.ts";

/** An endpoint that returns one object. Unlike `route`, it says nothing of pages. */
function one(target: string, sql: string, yaml = ""): Files {
  const [method = "", path = ""] = target.split(" ");
  const file = target.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  const inPath = path.includes(":id") && !yaml.includes("request:");
  const request = inPath ? `request:\n  - { field-name: id, field-in: path, ${INT} }\n` : "";
  return {
    [`${file}.yaml`]: `url-path: ${path}\nmethod: ${method}\ntemplate-source: ${file}.sql\nconnection: [memory]\nreturns: one\n${yaml}${request}`,
    [`${file}.sql`]: sql,
  };
}

const BY_ID = "SELECT id, name FROM t WHERE id = {{params.id}} OR {{params.id}} = 99 ORDER BY id";
const DATA = "operation: { returns-data: true }\n";
const NOT_FOUND = { error: "Not Found" };
const SEVERAL = { error: "Internal Server Error: the query returned several rows instead of one" };

let service: TestService;
beforeAll(async () => {
  service = await serviceFrom({
    ...mainFile("CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR); CREATE TABLE log (what VARCHAR)"),
    ...one("GET /t/:id", BY_ID),
    ...one("GET /unpaged/:id", BY_ID, "with-pagination: false\n"),
    ...one("POST /find/:id", BY_ID, "operation: { type: Read }\n"),
    ...one("GET /cached/:id", BY_ID, "cache: { schedule: 1h }\n"),
    ...one(
      "GET /table/:id",
      "SELECT id, name FROM {{cache.catalog}}.{{cache.schema}}.{{cache.table}} WHERE id = {{params.id}} OR {{params.id}} = 99",
      "cache: { table: copy, schedule: 1h, template-file: copy.sql }\n",
    ),
    "copy.sql": "SELECT id, name FROM t",
    ...one("GET /several", "SET VARIABLE wanted = 2; SELECT * FROM t WHERE id = getvariable('wanted')"),
    ...one("GET /top", "SELECT list(id) AS ids FROM (SELECT id FROM t ORDER BY id LIMIT {{params.limit}})"),
    ...one(
      "GET /shapes",
      "SELECT 1 AS data, NULL AS next, [1, NULL] AS l, 170141183460469231731687303715884105727 AS n",
    ),
    ...one("GET /pragma", "PRAGMA table_info('log')"),
    ...one("GET /endless", "SELECT range AS n FROM range(1000000000000)"),
    ...one(
      "GET /long",
      "SELECT 1 AS n, repeat('x', {{params.size}}) AS text",
      `request:\n  - { field-name: size, field-in: query, ${INT} }\n`,
    ),
    ...one("GET /refused", "SELECT error('403: not yours') AS n"),
    ...one("GET /refusing", "SELECT id, error('broken') AS n FROM t"),
    ...one(
      "PATCH /t/:id",
      "INSERT INTO log VALUES ('patch'); UPDATE t SET name = 'new' WHERE id = {{params.id}} OR {{params.id}} = 99 RETURNING id, name",
      DATA,
    ),
    ...one("DELETE /t/:id", "DELETE FROM t WHERE id = {{params.id}} OR {{params.id}} = 99 RETURNING id", DATA),
    ...one("POST /t", "INSERT INTO t VALUES ({{params.id}}, 'x') RETURNING *", DATA + bodyFields({ id: INT })),
    ...one("PUT /selected", "UPDATE t SET name = 'sel' WHERE id = 1; SELECT name FROM t WHERE id = 1", DATA),
    ...one("PUT /silent", "UPDATE t SET name = 'sil' WHERE id = 1", DATA),
    ...one(
      "PUT /each/:id",
      "INSERT INTO log VALUES ('each'); UPDATE t SET name = 'each' WHERE id = {{params.id}} OR {{params.id}} = 99 RETURNING id",
      "operation: { returns-data: true, transaction: false }\n",
    ),
    "reset.yaml": "url-path: /reset\nmethod: PUT\ntemplate-source: reset.sql\nconnection: memory\n",
    "reset.sql": "DELETE FROM log; DELETE FROM t; INSERT INTO t VALUES (1, 'one'), (2, 'two')",
    "all.yaml": "url-path: /all\ntemplate-source: all.sql\nconnection: memory\nwith-pagination: false\n",
    "all.sql": "SELECT id, name FROM t ORDER BY id",
    "log.yaml": "url-path: /log\ntemplate-source: log.sql\nconnection: memory\nwith-pagination: false\n",
    "log.sql": "SELECT what FROM log",
  });
});
beforeEach(async () => {
  expect((await send(service, "PUT /reset")).status).toBe(200);
});
afterAll(() => service?.[Symbol.asyncDispose]());

describe("a read", () => {
  test.each(["/t", "/unpaged", "/cached", "/table"])("%s/:id is an object, 404 or 500", async (path) => {
    for (const _ of [1, 2, 3]) {
      const found = await service.get(`${path}/1`);
      expect([found.status, await found.text()]).toEqual([200, '{"id":1,"name":"one"}']);
      expect(found.headers.get("content-type")).toBe("application/json");
      expect([...found.headers.keys()].filter((name) => /^x-(total|offset|limit|next)/.test(name))).toEqual([]);
      expect(await outcome(service, `GET ${path}/7`)).toEqual([404, NOT_FOUND]);
      expect(await outcome(service, `GET ${path}/99`)).toEqual([500, SEVERAL]);
    }
  });

  test("by POST, too", async () => {
    expect(await outcome(service, "POST /find/2", {})).toEqual([200, { id: 2, name: "two" }]);
    expect(await outcome(service, "POST /find/7", {})).toEqual([404, NOT_FOUND]);
  });

  test.each([
    ["/several", { id: 2, name: "two" }],
    ["/shapes", { data: 1, next: null, l: [1, null], n: expect.any(Number) }],
    ["/pragma", expect.objectContaining({ name: "what", type: "VARCHAR" })],
  ])("%s", async (path, expected) => {
    expect(await outcome(service, `GET ${path}`)).toEqual([200, expected]);
  });

  test.each([1_000, 300_000, 20_000_000])("a value of %i characters", async (size) => {
    const text = "x".repeat(size);
    expect(await (await service.get(`/long?size=${size}`)).text()).toBe(`{"n":1,"text":"${text}"}`);
    expect(await (await service.get(`/long?size=${size}&format=csv`)).text()).toBe(`n,text\r\n1,${text}\r\n`);
  });

  test("several rows are found out without reading them all", async () => {
    expect(await outcome(service, "GET /endless")).toEqual([500, SEVERAL]);
  });

  test("a failure of the query stays what it is", async () => {
    expect(await outcome(service, "GET /refused")).toEqual([403, { error: "not yours" }]);
    expect(await outcome(service, "GET /refusing")).toEqual([
      500,
      { error: "Internal Server Error: Invalid Input Error: broken" },
    ]);
  });

  test("limit and offset select nothing, unless the template uses them", async () => {
    for (const query of ["limit=1", "limit=0", "offset=1", "limit=1&offset=1"]) {
      expect(await outcome(service, `GET /t/1?${query}`)).toEqual([200, { id: 1, name: "one" }]);
      expect(await outcome(service, `GET /t/99?${query}`)).toEqual([500, SEVERAL]);
      expect(await outcome(service, `GET /cached/1?${query}`)).toEqual([200, { id: 1, name: "one" }]);
    }
    expect(await outcome(service, "GET /t/1?limit=x")).toEqual([
      400,
      { errors: [{ field: "limit", message: "Invalid integer value" }] },
    ]);
    expect(await outcome(service, "GET /top")).toEqual([200, { ids: [1, 2] }]);
    expect(await outcome(service, "GET /top?limit=1")).toEqual([200, { ids: [1] }]);
  });

  test("requests that share one execution get the same", async () => {
    const at = async (path: string) => (await service.get(path)).status;
    for (const path of ["/t/1", "/t/7", "/t/99", "/cached/7", "/table/99"]) {
      const statuses = new Set(await Promise.all(Array.from({ length: 12 }, () => at(path))));
      expect([path, ...statuses]).toEqual([path, path.endsWith("1") ? 200 : path.endsWith("7") ? 404 : 500]);
    }
  });

  test("sees every write", async () => {
    for (const name of ["a", "b", "c"]) {
      await send(service, "DELETE /t/1");
      expect(await outcome(service, "GET /t/1")).toEqual([404, NOT_FOUND]);
      expect((await outcome(service, "POST /t", { id: 1 }))[0]).toBe(200);
      expect(await outcome(service, "GET /t/1")).toEqual([200, { id: 1, name: "x" }]);
      expect([name, (await outcome(service, "GET /t/1"))[0]]).toEqual([name, 200]);
    }
  });
});

describe("other formats have one row", () => {
  test("CSV and NDJSON", async () => {
    expect(await (await service.get("/t/1?format=csv")).text()).toBe("id,name\r\n1,one\r\n");
    expect(await (await service.get("/t/1", { Accept: "application/x-ndjson" })).text()).toBe(
      '{"id":1,"name":"one"}\n',
    );
  });

  test("Arrow", async () => {
    const bytes = await (await service.get("/t/1?format=arrow")).arrayBuffer();
    expect(tableFromIPC(new Uint8Array(bytes)).toArray().map(String)).toEqual(['{"id": 1, "name": "one"}']);
  });

  test("Parquet", async () => {
    const response = await service.get("/t/1?format=parquet");
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/vnd.apache.parquet"]);
    expect(
      Buffer.from(await response.arrayBuffer())
        .subarray(0, 4)
        .toString(),
    ).toBe("PAR1");
  });

  test.each(["csv", "arrow", "ndjson", "parquet", "json"])(
    "%s: 404 without a row, 500 with several",
    async (format) => {
      for (const path of ["/t", "/cached", "/table"]) {
        expect(await outcome(service, `GET ${path}/7?format=${format}`)).toEqual([404, NOT_FOUND]);
        expect(await outcome(service, `GET ${path}/99?format=${format}`)).toEqual([500, SEVERAL]);
      }
    },
  );
});

describe("HEAD and conditions", () => {
  test("HEAD has the status of GET", async () => {
    const found = await send(service, "HEAD /t/1");
    expect([found.status, found.text, found.headers.get("content-length")]).toEqual([200, "", "21"]);
    expect((await send(service, "HEAD /t/7")).status).toBe(404);
    expect((await send(service, "HEAD /t/99")).status).toBe(500);
  });

  test.each(["/t", "/cached", "/table"])("%s: 304 only for an object that is there", async (path) => {
    const { headers } = await service.get(`${path}/1`);
    const tag = headers.get("etag") ?? "";
    expect(tag).toMatch(/^"/);
    expect((await send(service, `GET ${path}/1`, undefined, { "If-None-Match": tag })).status).toBe(304);
    expect((await send(service, `GET ${path}/1`, undefined, { "If-None-Match": "*" })).status).toBe(304);
    for (const condition of [tag, "*"]) {
      expect(await outcome(service, `GET ${path}/7`, undefined, { "If-None-Match": condition })).toEqual([
        404,
        NOT_FOUND,
      ]);
    }
    expect((await service.get(`${path}/7`)).headers.get("etag")).toBeNull();
  });
});

describe("a write", () => {
  const all = () => service.json("/all");
  const BEFORE = [
    { id: 1, name: "one" },
    { id: 2, name: "two" },
  ];

  test("has one object as its data", async () => {
    expect((await send(service, "PATCH /t/1")).text).toBe('{"rows_affected":2,"data":{"id":1,"name":"new"}}');
    expect((await send(service, "POST /t", { id: 3 })).text).toBe('{"rows_affected":1,"data":{"id":3,"name":"x"}}');
    expect((await send(service, "DELETE /t/3")).text).toBe('{"rows_affected":1,"data":{"id":3}}');
    expect((await send(service, "PUT /selected")).text).toBe('{"rows_affected":1,"data":{"name":"sel"}}');
    expect((await send(service, "PUT /silent")).text).toBe('{"rows_affected":1}');
  });

  test.each(["PATCH", "DELETE"])("%s is rolled back when it has no row, or several", async (method) => {
    for (const headers of [{}, { "Idempotency-Key": `${method}-1` }]) {
      expect(await outcome(service, `${method} /t/7`, undefined, headers)).toEqual([404, NOT_FOUND]);
      expect(await outcome(service, `${method} /t/99`, undefined, {})).toEqual([500, SEVERAL]);
      expect(await all()).toEqual(BEFORE);
      expect(await service.json("/log")).toEqual([]);
    }
  });

  test("with a key that was repeated: the same object", async () => {
    const headers = { "Idempotency-Key": "patch-1" };
    for (const _ of [1, 2]) {
      expect((await send(service, "PATCH /t/1", undefined, headers)).text).toBe(
        '{"rows_affected":2,"data":{"id":1,"name":"new"}}',
      );
    }
    expect(await service.json("/log")).toEqual([{ what: "patch" }]);
  });

  test("a failed one stores no response for its key", async () => {
    const headers = { "Idempotency-Key": "patch-2" };
    expect(await outcome(service, "PATCH /t/3", undefined, headers)).toEqual([404, NOT_FOUND]);
    await send(service, "POST /t", { id: 3 });
    expect((await outcome(service, "PATCH /t/3", undefined, headers))[0]).toBe(200);
  });

  test.each([undefined, "each-1"])("without a transaction, what is committed stays (key %s)", async (key) => {
    const headers: Record<string, string> = key === undefined ? {} : { "Idempotency-Key": key };
    expect(await outcome(service, "PUT /each/7", undefined, headers)).toEqual([404, NOT_FOUND]);
    expect(await service.json("/log")).toEqual([{ what: "each" }]);
    expect(await outcome(service, "PUT /each/1")).toEqual([200, { rows_affected: 2, data: { id: 1 } }]);
  });
});
