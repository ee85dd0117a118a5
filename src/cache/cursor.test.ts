import { expect, test } from "vitest";
import { canCompare, comparedCursor, cursorTypeOf, finiteCursor } from "./cursor.ts";

test.each([
  ["timestamp", "timestamp"],
  ["TIMESTAMP WITH TIME  ZONE", "timestamptz"],
  ["BigInt", "integer"],
  ["decimal(18, 2)", "decimal"],
  ["string", "varchar"],
  ["epoch", undefined],
  ["", undefined],
])("'%s' is %s", (name, type) => {
  expect(cursorTypeOf(name)).toBe(type);
});

test.each([
  ["INTEGER", undefined, '"c"', '"c"'],
  ["INTEGER", "integer", '"c"', '"c"'],
  ["DECIMAL(18,3)", "integer", '"c"', '"c"'],
  ["VARCHAR", "integer", 'TRY_CAST("c" AS HUGEINT)', 'TRY_CAST("c" AS HUGEINT)'],
  ["TIMESTAMP WITH TIME ZONE", "timestamp", '"c"', 'CASE WHEN isfinite("c") THEN "c" END'],
  // Texts are compared byte by byte, whatever the collation.
  ["VARCHAR", undefined, 'encode("c")', 'encode("c")'],
  ["BIGINT", "varchar", 'encode(TRY_CAST("c" AS VARCHAR))', 'encode(TRY_CAST("c" AS VARCHAR))'],
] as const)("a column of type %s compared as %s", (columnType, cursorType, compared, finite) => {
  const cursor = { cursor: "c", cursorType };
  expect([comparedCursor(cursor, columnType), finiteCursor(cursor, columnType)]).toEqual([compared, finite]);
});

test.each([
  ["VARCHAR", "integer", true],
  ["JSON", "timestamp", true],
  ["ENUM('1', '2')", "integer", true],
  ["BIGINT", "varchar", true],
  ["DATE", "timestamp", true],
  ["TIMESTAMP", "integer", false],
  ["INTEGER", "timestamp", false],
  ["INTEGER[]", "integer", false],
  ["STRUCT(a INTEGER)", "integer", false],
  ["BOOLEAN", "integer", false],
] as const)("whether %s can be compared as %s: %s", (columnType, cursorType, can) => {
  expect(canCompare({ cursor: "c", cursorType }, columnType)).toBe(can);
});
