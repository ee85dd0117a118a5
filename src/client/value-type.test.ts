import { expect, test } from "vitest";
import type { ColumnType } from "../result/column.ts";
import type { Numbers } from "./runtime/call.ts";
import { valueType } from "./value-type.ts";

const bigint: ColumnType = { kind: "integer", bits: 64, signed: true };
const int: ColumnType = { kind: "integer", bits: 32, signed: false };
const decimal: ColumnType = { kind: "decimal", precision: 9, scale: 2, bits: 32 };
const text: ColumnType = { kind: "text" };
const json: ColumnType = { kind: "json" };
const struct = (...fields: readonly (readonly [string, ColumnType])[]): ColumnType => ({
  kind: "struct",
  fields: fields.map(([name, type]) => ({ name, type })),
});
const union = (...types: readonly ColumnType[]): ColumnType => ({
  kind: "union",
  members: types.map((type, index) => ({ name: `m${index}`, type })),
});

test.each<[readonly ColumnType[], string, Numbers | undefined]>([
  [[int], "number | null", "number"],
  [[bigint], "bigint | null", "bigint"],
  [[decimal], "NumberText | null", "text"],
  [[text], "string | null", undefined],
  [[{ kind: "null" }], "null", undefined],
  [[json], "Json", "json"],
  [[{ kind: "list", item: bigint }], "Array<bigint | null> | null", "bigint"],
  [[{ kind: "map", key: text, value: bigint }], "Record<string, bigint | null> | null", "bigint"],
  [
    [{ kind: "map", key: text, value: struct(["a", bigint]) }],
    "Record<string, { a: bigint | null } | null> | null",
    { each: { fields: { a: "bigint" } } },
  ],
  [[struct(["a", int], ["b", text])], "{ a: number | null; b: string | null } | null", "number"],
  [
    [struct(["a b", decimal], ["c", text])],
    '{ "a b": NumberText | null; c: string | null } | null',
    { fields: { "a b": "text" } },
  ],
  // Fields without a name share one.
  [[struct(["", int], ["", text])], '{ "": Json } | null', { fields: { "": "json" } }],
  [[union(bigint, text)], "bigint | string | null", "bigint"],
  // The kind of a number is unknown.
  [[union(bigint, { kind: "float", bits: 64 })], "NumberText | null", "text"],
  [[union(struct(["a", bigint]), struct(["a", int]))], "{ a: NumberText | null } | null", { fields: { a: "text" } }],
  [[union(struct(["a", bigint]), bigint)], "{ a: NumberText | null } | NumberText | null", "text"],
  [[text, bigint], "string | bigint | null", "bigint"],
  [[bigint, decimal, text], "NumberText | string | null", "text"],
  [[{ kind: "enum", bits: 8, values: ["a", '"'] }], '"a" | "\\"" | null', undefined],
])("%j", (types, expected, numbers) => {
  expect(valueType(types, "bigint")).toEqual({ text: expected, numbers });
});

test("the other ways", () => {
  expect(valueType([struct(["a", bigint], ["b", decimal])], "string")).toEqual({
    text: "{ a: NumberText | null; b: NumberText | null } | null",
    numbers: { fields: { a: "text", b: "text" } },
  });
  expect(valueType([union(bigint, decimal, json)], "number")).toEqual({
    text: "number | Json | null",
    numbers: "number",
  });
});
