import { expect, test } from "vitest";
import { engine } from "../engines/index.ts";
import { haveSameColumns } from "./same-columns.ts";

const same = (left: string, right: string): boolean =>
  haveSameColumns([{ sql: left, values: [] }], [{ sql: right, values: [] }], engine.dialect);

test.each([
  ["SELECT a FROM t WHERE x = $1", "SELECT a FROM t WHERE y = $1 AND x = NULL"],
  ["SELECT a FROM t ORDER BY a", "SELECT a FROM t ORDER BY b DESC LIMIT 5"],
  [
    "WITH c AS (SELECT 1 UNION SELECT 2) SELECT * FROM c WHERE true",
    "WITH c AS (SELECT 1 UNION SELECT 2) SELECT * FROM c WHERE x IN (SELECT y FROM z)",
  ],
  [
    "SELECT 'WHERE' AS a, \"order\" FROM t -- WHERE\nWHERE 1",
    "SELECT 'WHERE' AS a, \"order\" FROM t -- WHERE\nWHERE 2",
  ],
])("%s and %s", (left, right) => expect(same(left, right)).toBe(true));

test.each([
  ["SELECT a FROM t WHERE 1", "SELECT a, b FROM t WHERE 1"],
  ["SELECT * FROM t WHERE 1", "SELECT * FROM t JOIN u USING (id) WHERE 1"],
  ["SELECT a FROM t", "SELECT a FROM t"],
  ["SELECT a FROM t", "SELECT a FROM t WHERE 1"],
  ["SELECT a FROM t WHERE 1", "SELECT a FROM t WHERE 1 UNION ALL SELECT 'x'"],
  ["SELECT t.offset, 1 FROM t", "SELECT t.offset, 1, 2 FROM t"],
  ["SELECT t.offset, 1 FROM t WHERE 1", "SELECT t.offset, 1, 2 FROM t WHERE 1"],
  ["SELECT (SELECT 1 WHERE true) FROM t", "SELECT (SELECT 1 WHERE true), 2 FROM t"],
  ["FROM t WHERE 1 SELECT a", "FROM t WHERE 1 SELECT b"],
  ["PIVOT t ON a", "PIVOT t ON b"],
])("not for certain: %s and %s", (left, right) => expect(same(left, right)).toBe(false));

test("several statements are unknown", () => {
  const one = { sql: "SELECT a FROM t WHERE 1", values: [] };
  expect(haveSameColumns([one, one], [one, one], engine.dialect)).toBe(false);
  expect(haveSameColumns([], [], engine.dialect)).toBe(false);
});
