import { expect, test } from "vitest";
import { uniqueNames } from "./column-names.ts";

test.each([
  [[], []],
  [
    ["a", "b"],
    ["a", "b"],
  ],
  [
    ["a", "a", "a"],
    ["a", "a_1", "a_2"],
  ],
  [
    ["a", "a", "a_1"],
    ["a", "a_2", "a_1"],
  ],
  [
    ["a_1", "a", "a", "a_1"],
    ["a_1", "a", "a_2", "a_1_1"],
  ],
  [
    ["a", "A", "A"],
    ["a", "A", "A_1"],
  ],
  [
    ["", ""],
    ["", "_1"],
  ],
])("%j become %j", (names, expected) => {
  expect(uniqueNames(names.map((name) => ({ name, type: { kind: "text" } })))).toEqual(expected);
});
