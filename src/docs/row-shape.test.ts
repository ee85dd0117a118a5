import { expect, test } from "vitest";
import type { Column, ColumnType } from "../result/column.ts";
import { mergeShapes } from "./row-shape.ts";

const INT: ColumnType = { kind: "integer", bits: 32, signed: true };
const TEXT: ColumnType = { kind: "text" };

const columns = (...named: readonly (readonly [string, ColumnType])[]): readonly Column[] =>
  named.map(([name, type]) => ({ name, type }));

test("one way is what it is", () => {
  expect(mergeShapes([columns(["a", INT], ["b", TEXT])])).toEqual({
    kind: "known",
    sometimesAbsent: false,
    columns: [
      { name: "a", types: [INT], isAlwaysPresent: true },
      { name: "b", types: [TEXT], isAlwaysPresent: true },
    ],
  });
});

test("of several ways, what each has is there always, and a type that differs is either", () => {
  expect(mergeShapes([columns(["a", INT]), columns(["a", TEXT], ["b", INT]), columns(["a", INT])])).toEqual({
    kind: "known",
    sometimesAbsent: false,
    columns: [
      { name: "a", types: [INT, TEXT], isAlwaysPresent: true },
      { name: "b", types: [INT], isAlwaysPresent: false },
    ],
  });
});

test("a way without columns has no rows", () => {
  expect(mergeShapes([[]])).toEqual({ kind: "none" });
  expect(mergeShapes([[], columns(["a", INT])])).toMatchObject({
    sometimesAbsent: true,
    columns: [{ name: "a", isAlwaysPresent: true }],
  });
});
