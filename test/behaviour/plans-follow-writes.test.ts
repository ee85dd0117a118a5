import { expect, test } from "vitest";
import { serviceFrom } from "../service.ts";
import { bodyFields, INT, mainFile, outcome, route, send } from "./write-project.ts";

// DuckDB plans a prepared statement with the statistics of the moment (the largest id, no NULL) and keeps to that plan
// after they have changed: what is kept prepared over a write answers wrongly.

/** Twenty rows with ids 0 to 19 and no NULL. */
const TABLE = `
CREATE TABLE t (id BIGINT, v INTEGER);
INSERT INTO t SELECT range, 0 FROM range(20);
CREATE TABLE u AS SELECT range AS id FROM range(2000);`;

/** A query, and what it gives before and after id 1000 with NULL comes in. */
const READS: readonly (readonly [string, string, number, number])[] = [
  ["a range beyond the largest", "SELECT count(*) AS n FROM t WHERE id >= 20", 0, 1],
  ["a range that holds all", "SELECT count(*) AS n FROM t WHERE id < 20", 20, 20],
  ["a value that is not there", "SELECT count(*) AS n FROM t WHERE id = 1000", 0, 1],
  ["IS NULL", "SELECT count(*) AS n FROM t WHERE v IS NULL", 0, 1],
  ["IS NOT NULL", "SELECT count(*) AS n FROM t WHERE v IS NOT NULL", 20, 20],
  ["count of a column", "SELECT count(v) AS n FROM t", 20, 20],
  ["coalesce", "SELECT sum(coalesce(v, 7))::INTEGER AS n FROM t", 0, 7],
  ["groups", "SELECT count(*) AS n FROM (SELECT id, count(*) FROM t GROUP BY id)", 20, 21],
  ["distinct", "SELECT count(*) AS n FROM (SELECT DISTINCT id FROM t)", 20, 21],
  ["a join with itself", "SELECT count(*) AS n FROM t a JOIN t b USING (id)", 20, 21],
  ["a join with another", "SELECT count(*) AS n FROM u JOIN t USING (id)", 20, 21],
  ["an outer join", "SELECT count(b.id) AS n FROM u a LEFT JOIN t b USING (id)", 20, 21],
  ["IN", "SELECT count(*) AS n FROM u WHERE id IN (SELECT id FROM t)", 20, 21],
  ["EXISTS", "SELECT count(*) AS n FROM u WHERE EXISTS (SELECT 1 FROM t WHERE t.id = u.id)", 20, 21],
  ["a parameter beside it", "SELECT count(*) AS n FROM t JOIN u USING (id) WHERE id >= {{params.least}}", 20, 21],
  ["a parameter, and IS NULL", "SELECT count(*) AS n FROM t WHERE id >= {{params.least}} AND v IS NULL", 0, 1],
];

const LEAST = "request:\n  - { field-name: least, field-in: query, default: '0', validators: [{ type: int }] }\n";
const ROW = bodyFields({ id: INT });

test.each([
  ["INSERT", "INSERT INTO t VALUES ({{params.id}}, NULL)"],
  ["INSERT without a transaction", "INSERT INTO t VALUES ({{params.id}}, NULL)"],
])("reads after %s", async (name, sql) => {
  const operation = name.includes("without") ? "operation: { transaction: false }\n" : "";
  await using service = await serviceFrom(
    Object.assign(
      {},
      mainFile(TABLE),
      route("POST /t", sql, operation + ROW),
      ...READS.map(([, sql], index) => route(`GET /read/${index}`, sql, sql.includes("least") ? LEAST : "")),
    ),
  );
  const look = (): Promise<unknown[]> =>
    Promise.all(
      READS.map(async ([what], index) => [what, ((await service.json(`/read/${index}`)) as [{ n: number }])[0].n]),
    );
  // All of the pool's connections get to know them.
  for (let time = 0; time < 6; time++) expect(await look()).toEqual(READS.map(([what, , before]) => [what, before]));
  expect(await outcome(service, "POST /t", { id: 1000 })).toEqual([200, { rows_affected: 1 }]);
  for (let time = 0; time < 6; time++) expect(await look()).toEqual(READS.map(([what, , , after]) => [what, after]));
});

/** A write that changes nothing at first, and one row once id 1000 with NULL is there. */
test.each([
  ["UPDATE ... IS NULL", "UPDATE t SET v = 1 WHERE v IS NULL"],
  ["UPDATE beyond the largest", "UPDATE t SET v = 1 WHERE id >= 20"],
  ["UPDATE of a value", "UPDATE t SET v = 1 WHERE id = 1000"],
  ["UPDATE ... FROM", "UPDATE t SET v = 1 FROM u WHERE t.id = u.id AND u.id > 19"],
  ["DELETE ... IS NULL", "DELETE FROM t WHERE v IS NULL"],
  ["DELETE beyond the largest", "DELETE FROM t WHERE id > 19"],
  ["INSERT ... SELECT", "INSERT INTO u SELECT id + 5000 FROM t WHERE v IS NULL"],
  ["INSERT ... SELECT of a join", "INSERT INTO u SELECT t.id + 5000 FROM t JOIN u USING (id) WHERE t.id > 19"],
  ["MERGE", "MERGE INTO t USING (SELECT id FROM u WHERE id > 19) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = 1"],
  ["a parameter beside it", "UPDATE t SET v = {{params.id}} WHERE v IS NULL AND id >= 0"],
])("a write that was run before: %s", async (_, sql) => {
  await using service = await serviceFrom({
    ...mainFile(TABLE, "limits: { max-concurrent-queries: 1 }\n"),
    ...route("POST /t", "INSERT INTO t VALUES ({{params.id}}, NULL)", ROW),
    ...route("PUT /change", sql, ROW),
  });
  for (let time = 0; time < 3; time++) {
    expect(await outcome(service, "PUT /change", { id: 1 })).toEqual([200, { rows_affected: 0 }]);
  }
  expect(await outcome(service, "POST /t", { id: 1000 })).toEqual([200, { rows_affected: 1 }]);
  expect(await outcome(service, "PUT /change", { id: 1 })).toEqual([200, { rows_affected: 1 }]);
});

test("a statement of a template sees what the one before it has written, each time", async () => {
  const sql =
    "INSERT INTO t VALUES ({{params.id}}, NULL); UPDATE t SET v = 1 WHERE v IS NULL; SELECT count(*) AS n FROM t JOIN u USING (id)";
  await using service = await serviceFrom({
    ...mainFile(TABLE),
    ...route("POST /t", sql, `operation: { returns-data: true }\n${ROW}`),
  });
  for (let time = 0; time < 10; time++) {
    const { text } = await send(service, "POST /t", { id: 100 * (time + 1) });
    expect(text).toBe(`{"rows_affected":2,"data":[{"n":${21 + time}}]}`);
  }
});
