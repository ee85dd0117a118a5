import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serviceFrom, type TestService } from "../service.ts";
import { bodyFields, INT, mainFile, outcome, route, send } from "./write-project.ts";

/** What every case starts from: four rows, ids 1 to 4. */
const RESET =
  "DELETE FROM keyed; DELETE FROM plain; INSERT INTO keyed SELECT range, range * 10 FROM range(1, 5); INSERT INTO plain SELECT range, range * 10 FROM range(1, 5)";
const MAIN = mainFile(`
CREATE TABLE keyed (id INTEGER PRIMARY KEY, v INTEGER);
CREATE TABLE plain (id INTEGER, v INTEGER);
CREATE TABLE log (moment TIMESTAMP, what VARCHAR);`);

const NEW = "(VALUES (4, 0), (5, 0), (6, 0)) AS s (id, v)";

/** Name, SQL, rows that it changes, and how many rows of `keyed` and `plain` there are afterwards. */
const CASES: readonly (readonly [string, string, number, number, number])[] = [
  ["INSERT of one", "INSERT INTO keyed VALUES (5, 1)", 1, 5, 4],
  ["INSERT of three", "INSERT INTO keyed VALUES (5, 1), (6, 1), (7, 1)", 3, 7, 4],
  ["INSERT ... SELECT", "INSERT INTO plain SELECT id, v FROM keyed WHERE id > 1", 3, 4, 7],
  ["INSERT ... SELECT of many", "INSERT INTO plain SELECT range, 0 FROM range(10000)", 10_000, 4, 10_004],
  ["INSERT ... SELECT of none", "INSERT INTO plain SELECT id, v FROM keyed WHERE id > 99", 0, 4, 4],
  ["INSERT BY NAME", "INSERT INTO plain BY NAME SELECT 1 AS v, 9 AS id", 1, 4, 5],
  ["INSERT after WITH", "WITH s AS (SELECT * FROM keyed) INSERT INTO plain SELECT id, v FROM s", 4, 4, 8],
  ["ON CONFLICT DO NOTHING", `INSERT INTO keyed SELECT * FROM ${NEW} ON CONFLICT DO NOTHING`, 2, 6, 4],
  ["ON CONFLICT DO NOTHING, all there", "INSERT INTO keyed VALUES (1, 0) ON CONFLICT DO NOTHING", 0, 4, 4],
  ["ON CONFLICT DO UPDATE", `INSERT INTO keyed SELECT * FROM ${NEW} ON CONFLICT DO UPDATE SET v = excluded.v`, 3, 6, 4],
  [
    "ON CONFLICT DO UPDATE WHERE",
    `INSERT INTO keyed SELECT * FROM ${NEW} ON CONFLICT DO UPDATE SET v = 1 WHERE keyed.v < 0`,
    2,
    6,
    4,
  ],
  ["INSERT OR REPLACE", "INSERT OR REPLACE INTO keyed VALUES (4, 0), (5, 0)", 2, 5, 4],
  ["INSERT OR IGNORE", "INSERT OR IGNORE INTO keyed VALUES (4, 0), (5, 0)", 1, 5, 4],
  ["UPDATE of all", "UPDATE plain SET v = 0", 4, 4, 4],
  ["UPDATE of some", "UPDATE plain SET v = 0 WHERE id > 2", 2, 4, 4],
  ["UPDATE of none", "UPDATE plain SET v = 0 WHERE id > 99", 0, 4, 4],
  ["UPDATE to what it was", "UPDATE plain SET v = v", 4, 4, 4],
  ["UPDATE of a key", "UPDATE keyed SET id = id + 100", 4, 4, 4],
  ["UPDATE ... FROM", `UPDATE plain SET v = s.v FROM ${NEW} WHERE plain.id = s.id`, 1, 4, 4],
  ["DELETE of all", "DELETE FROM plain", 4, 4, 0],
  ["DELETE of some", "DELETE FROM plain WHERE id = 2", 1, 4, 3],
  ["DELETE of none", "DELETE FROM plain WHERE id = 99", 0, 4, 4],
  ["DELETE ... USING", `DELETE FROM plain USING ${NEW} WHERE plain.id = s.id`, 1, 4, 3],
  ["TRUNCATE", "TRUNCATE plain", 4, 4, 0],
  [
    "MERGE",
    `MERGE INTO keyed USING ${NEW} ON keyed.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v)`,
    3,
    6,
    4,
  ],
  ["MERGE that deletes", `MERGE INTO keyed USING ${NEW} ON keyed.id = s.id WHEN MATCHED THEN DELETE`, 1, 3, 4],
  [
    "MERGE that does nothing",
    `MERGE INTO keyed USING ${NEW} ON keyed.id = s.id WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED THEN DO NOTHING`,
    0,
    4,
    4,
  ],
  ["INSERT ... RETURNING", "INSERT INTO keyed VALUES (5, 1), (6, 1) RETURNING id", 2, 6, 4],
  ["INSERT of many RETURNING", "INSERT INTO plain SELECT range, 0 FROM range(10000) RETURNING *", 10_000, 4, 10_004],
  ["ON CONFLICT ... RETURNING", `INSERT INTO keyed SELECT * FROM ${NEW} ON CONFLICT DO NOTHING RETURNING id`, 2, 6, 4],
  ["UPDATE ... RETURNING", "UPDATE plain SET v = 0 WHERE id > 2 RETURNING id, v", 2, 4, 4],
  ["UPDATE of none RETURNING", "UPDATE plain SET v = 0 WHERE id > 99 RETURNING id", 0, 4, 4],
  ["DELETE ... RETURNING", "DELETE FROM plain WHERE id > 1 RETURNING *", 3, 4, 1],
  [
    "MERGE ... RETURNING",
    `MERGE INTO keyed USING ${NEW} ON keyed.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v) RETURNING merge_action, id`,
    3,
    5,
    4,
  ],
  // A count in a column of its own is a value like any other.
  ["RETURNING a number named Count", 'INSERT INTO keyed VALUES (5, 77) RETURNING v AS "Count"', 1, 5, 4],
  [
    "several, summed",
    "INSERT INTO keyed VALUES (5, 1); UPDATE plain SET v = 1; DELETE FROM plain WHERE id < 3",
    7,
    5,
    2,
  ],
  [
    "several, with RETURNING among them",
    "INSERT INTO keyed VALUES (5, 1), (6, 1) RETURNING id; UPDATE plain SET v = 1 WHERE id = 1; DELETE FROM plain RETURNING id",
    7,
    6,
    0,
  ],
  ["one that undoes another", "INSERT INTO plain VALUES (9, 9); DELETE FROM plain WHERE id = 9", 2, 4, 4],
  ["SELECT does not count", "SELECT 42 AS Count; DELETE FROM plain WHERE id = 1; SELECT * FROM keyed", 1, 4, 3],
  ["SELECT alone", "SELECT count(*) FROM plain", 0, 4, 4],
  ["DDL does not count", "CREATE OR REPLACE TABLE made (n INTEGER); INSERT INTO made VALUES (1), (2)", 2, 4, 4],
  [
    "a temporary table in between",
    "CREATE OR REPLACE TEMP TABLE s AS SELECT * FROM keyed; DELETE FROM plain USING s WHERE plain.id = s.id AND s.id > 1",
    3,
    4,
    1,
  ],
  [
    "comments, quotes and empty statements",
    "-- one; two\nINSERT INTO log VALUES (now(), 'a;b''c'); ; /* ; */ DELETE FROM plain;\n-- end",
    5,
    4,
    0,
  ],
];

const slug = (index: number): string => `/case/${index}`;

let service: TestService;
beforeAll(async () => {
  service = await serviceFrom(
    Object.assign(
      {},
      MAIN,
      route("POST /reset", RESET),
      route("GET /counts", "SELECT (SELECT count(*) FROM keyed) AS keyed, (SELECT count(*) FROM plain) AS plain"),
      ...CASES.map(([, sql], index) => route(`POST ${slug(index)}`, sql)),
      route(
        "POST /some",
        "{{#params.a}}INSERT INTO plain VALUES ({{params.a}}, 0);{{/params.a}}{{#params.b}}UPDATE plain SET v = {{params.b}};{{/params.b}} DELETE FROM keyed WHERE id = 1",
        bodyFields({ a: INT, b: INT }),
      ),
    ),
  );
});
afterAll(() => service[Symbol.asyncDispose]());

describe("rows_affected is the number of rows that were changed", () => {
  test.each(CASES.map((entry, index) => [...entry, index] as const))(
    "%s",
    async (_, _sql, affected, keyed, plain, index) => {
      expect((await send(service, "POST /reset")).status).toBe(200);
      const { status, text } = await send(service, `POST ${slug(index)}`);
      // To the letter: nothing else is in it.
      expect([status, text]).toEqual([200, `{"rows_affected":${affected}}`]);
      expect(await service.json("/counts")).toEqual([{ keyed, plain }]);
    },
  );

  test("COPY into a table counts, COPY into a file does not", async () => {
    const file = join(service.folder, "plain.csv");
    const copies = "operation: { allow: [copy] }\n";
    await using copying = await serviceFrom({
      ...MAIN,
      ...route("POST /out", `COPY (SELECT range AS id, 0 AS v FROM range(7)) TO '${file}'`, copies),
      ...route("POST /in", `COPY plain FROM '${file}'`, copies),
      ...route("POST /columns", `COPY plain (id, v) FROM '${file}' (HEADER)`, copies),
    });
    expect(await outcome(copying, "POST /out")).toEqual([200, { rows_affected: 0 }]);
    expect(await outcome(copying, "POST /in")).toEqual([200, { rows_affected: 7 }]);
    expect(await outcome(copying, "POST /columns")).toEqual([200, { rows_affected: 7 }]);
  });

  test("of the statements that were rendered", async () => {
    for (const [body, affected] of [
      [{}, 1],
      [{ a: 5 }, 2],
      [{ b: 5 }, 5],
      [{ a: 5, b: 5 }, 7],
    ] as const) {
      await send(service, "POST /reset");
      expect(await outcome(service, "POST /some", body)).toEqual([200, { rows_affected: affected }]);
    }
  });
});
