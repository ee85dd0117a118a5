import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Files, serviceFrom, type TestService } from "../service.ts";
import { bodyFields, INT, mainFile, outcome, route, send } from "./write-project.ts";

const DATA = "operation: { returns-data: true }\n";
const MAIN = mainFile(`
CREATE TABLE t (id INTEGER, name VARCHAR);
INSERT INTO t VALUES (1, 'one'), (2, 'two');
CREATE TABLE every AS SELECT * FROM test_all_types() WHERE false;`);

/** Name, SQL, and the answer to the letter. */
const DATA_OF: readonly (readonly [name: string, sql: string, expected: string])[] = [
  [
    "INSERT ... RETURNING",
    "INSERT INTO t VALUES (3, 'three'), (4, NULL) RETURNING id, name",
    '{"rows_affected":2,"data":[{"id":3,"name":"three"},{"id":4,"name":null}]}',
  ],
  [
    "UPDATE ... RETURNING",
    "UPDATE t SET name = upper(name) WHERE id = 2 RETURNING *",
    '{"rows_affected":1,"data":[{"id":2,"name":"TWO"}]}',
  ],
  ["DELETE ... RETURNING", "DELETE FROM t WHERE id = 1 RETURNING name", '{"rows_affected":1,"data":[{"name":"one"}]}'],
  [
    "MERGE ... RETURNING",
    "MERGE INTO t USING (VALUES (2)) s (id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = 'x' RETURNING merge_action, t.id",
    '{"rows_affected":1,"data":[{"merge_action":"UPDATE","id":2}]}',
  ],
  ["RETURNING of no rows", "DELETE FROM t WHERE id = 9 RETURNING name", '{"rows_affected":0,"data":[]}'],
  ["names twice", "DELETE FROM t WHERE id = 1 RETURNING id, id", '{"rows_affected":1,"data":[{"id":1,"id_1":1}]}'],
  [
    "the last RETURNING",
    "INSERT INTO t VALUES (3, 'three') RETURNING id AS first; DELETE FROM t WHERE id < 3 RETURNING id AS last; UPDATE t SET name = 'x'",
    '{"rows_affected":4,"data":[{"last":1},{"last":2}]}',
  ],
  [
    "a trailing SELECT",
    "UPDATE t SET name = 'x' WHERE id = 2; SELECT id, name FROM t ORDER BY id DESC",
    '{"rows_affected":1,"data":[{"id":2,"name":"x"},{"id":1,"name":"one"}]}',
  ],
  [
    "a trailing SELECT after WITH, and a comment",
    "DELETE FROM t; WITH s AS (SELECT count(*) AS n FROM t) SELECT n FROM s; -- done",
    '{"rows_affected":2,"data":[{"n":0}]}',
  ],
  ["a trailing FROM", "DELETE FROM t WHERE id = 1; FROM t", '{"rows_affected":1,"data":[{"id":2,"name":"two"}]}'],
  [
    "RETURNING wins over a trailing SELECT",
    "DELETE FROM t WHERE id = 1 RETURNING id AS gone; SELECT id FROM t",
    '{"rows_affected":1,"data":[{"gone":1}]}',
  ],
  ["a SELECT that is not last", "SELECT * FROM t; DELETE FROM t WHERE id = 1", '{"rows_affected":1}'],
  ["nothing that returns rows", "DELETE FROM t WHERE id = 1", '{"rows_affected":1}'],
  [
    "a column named Count",
    'DELETE FROM t WHERE id = 2 RETURNING id AS "Count"',
    '{"rows_affected":1,"data":[{"Count":2}]}',
  ],
];

/** Name and SQL of what returns rows. */
const WITHOUT_DATA = [
  ["RETURNING", "DELETE FROM t WHERE id = 1 RETURNING *"],
  ["a trailing SELECT", "DELETE FROM t WHERE id = 1; SELECT * FROM t"],
] as const;

const all = (files: readonly Files[]): Files => Object.fromEntries(files.flatMap((each) => Object.entries(each)));

let service: TestService;
beforeAll(async () => {
  service = await serviceFrom({
    ...MAIN,
    ...route("PUT /reset", "DELETE FROM t; INSERT INTO t VALUES (1, 'one'), (2, 'two')"),
    ...route("GET /rows", "SELECT id, name FROM t ORDER BY id"),
    ...all(DATA_OF.map(([, sql], index) => route(`POST /with-${index}`, sql, DATA))),
    ...all(WITHOUT_DATA.map(([, sql], index) => route(`POST /without-${index}`, sql))),
    ...route("GET /every", "SELECT * FROM test_all_types()"),
    ...route("POST /every", "INSERT INTO every SELECT * FROM test_all_types() RETURNING *", DATA),
    ...route("PUT /every", "DELETE FROM every; SELECT * FROM test_all_types()", DATA),
    ...route("GET /count", "SELECT count(*) AS n FROM t"),
    ...route(
      "POST /many",
      "INSERT INTO t SELECT range + 3, repeat('x', 50) FROM range({{params.n}}) RETURNING id, name",
      `${DATA}${bodyFields({ n: INT })}`,
    ),
    ...route("POST /x", "DELETE FROM t; SELECT error('broken') AS n FROM range(3)", DATA),
    ...route("POST /y", "DELETE FROM t WHERE id = 1 RETURNING error('broken') AS n", DATA),
    ...route("DELETE /data", "DELETE FROM t RETURNING id", DATA),
    ...route("DELETE /bare", "DELETE FROM t"),
    ...route("GET /visit", "DELETE FROM t RETURNING id", "operation: { type: Write, returns-data: true }\n"),
  });
});
beforeEach(async () => {
  expect((await send(service, "PUT /reset")).status).toBe(200);
});
afterAll(() => service?.[Symbol.asyncDispose]());

describe("data", () => {
  test.each(DATA_OF.map(([name, , expected], index) => [name, index, expected] as const))(
    "%s",
    async (_, index, expected) => {
      const { status, text, headers } = await send(service, `POST /with-${index}`);
      expect([status, text]).toEqual([200, expected]);
      expect(headers.get("content-type")).toBe("application/json");
    },
  );

  test.each(WITHOUT_DATA.map(([name], index) => [name, index] as const))(
    "%s without returns-data: none",
    async (_, index) => {
      expect((await send(service, `POST /without-${index}`)).text).toBe('{"rows_affected":1}');
      expect(await service.json("/rows")).toEqual([{ id: 2, name: "two" }]);
    },
  );

  test("every type as a read shows it", async () => {
    const rows = await (await service.get("/every")).text();
    expect(rows.length).toBeGreaterThan(4_000);
    expect((await send(service, "POST /every")).text).toBe(`{"rows_affected":3,"data":${rows}}`);
    expect((await send(service, "PUT /every")).text).toBe(`{"rows_affected":3,"data":${rows}}`);
  });

  test("of many rows is complete, and so is what was written", async () => {
    let total = 2;
    for (const n of [1, 2_048, 2_049, 60_000]) {
      const [status, body] = await outcome(service, "POST /many", { n });
      const { rows_affected, data } = body as { rows_affected: number; data: { id: number }[] };
      expect([status, rows_affected, data.length]).toEqual([200, n, n]);
      expect(data.at(-1)).toEqual({ id: n + 2, name: "x".repeat(50) });
      total += n;
      expect(await service.json("/count")).toEqual([{ n: total }]);
    }
  });

  test("a failure while it is made leaves nothing behind", async () => {
    for (const path of ["/x", "/y"]) {
      expect(await outcome(service, `POST ${path}`)).toEqual([
        500,
        { error: "Internal Server Error: Invalid Input Error: broken" },
      ]);
      expect(await service.json("/rows")).toHaveLength(2);
    }
  });
});

describe("the format of the answer is JSON", () => {
  const TARGETS = ["DELETE /data", "DELETE /bare", "GET /visit"];

  test.each(["text/csv", "application/vnd.apache.arrow.stream", "application/json;q=0, text/csv"])(
    "Accept: %s is 406, and nothing is run",
    async (accept) => {
      for (const target of TARGETS) {
        const [status, body] = await outcome(service, target, undefined, { Accept: accept });
        expect([target, status, body]).toEqual([
          target,
          406,
          { error: expect.stringMatching(/^Not Acceptable: offered are application\/json$/) },
        ]);
      }
      expect(await service.json("/rows")).toHaveLength(2);
    },
  );

  test.each(["csv", "arrow", "ndjson", "parquet", "nonsense"])(
    "format=%s is 400, and nothing is run",
    async (format) => {
      for (const target of TARGETS) {
        expect([target, ...(await outcome(service, `${target}?format=${format}`))]).toEqual([
          target,
          400,
          { errors: [{ field: "format", message: "Invalid enum value" }] },
        ]);
      }
      expect(await service.json("/rows")).toHaveLength(2);
    },
  );

  test.each([
    ["DELETE /data", { Accept: "*/*" }],
    ["DELETE /data", { Accept: "application/json" }],
    ["DELETE /data", { Accept: "text/csv, application/json;q=0.1" }],
    ["DELETE /data", { Accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" }],
    ["DELETE /data?format=json", { Accept: "application/json" }],
    ["DELETE /data?format=JSON", { Accept: "text/csv" }],
  ])("%s with %j", async (target, headers) => {
    const { status, text } = await send(service, target, undefined, headers);
    expect([status, text]).toEqual([200, '{"rows_affected":2,"data":[{"id":1},{"id":2}]}']);
  });
});
