import fc from "fast-check";
import { expect, test } from "vitest";
import { runAtOnce } from "../slices.ts";
import { scanJson } from "./scan-json.ts";

const isJson = (text: string): boolean => runAtOnce(scanJson(text, () => {})) !== undefined;

function isParsed(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Characters of JSON and a few that are none, so that most texts are nearly JSON. */
const NEARLY = [
  ...'{}[]",:\\/ \t\n\r\f\v\0\u00a0\ufeff\u2028019.-+eEutrfalsn',
  "true",
  "false",
  "null",
  '"a"',
  "\\u00e9",
  "\ud800",
];

test("takes what JSON.parse takes, and nothing else", () => {
  const nearly = fc.array(fc.constantFrom(...NEARLY), { maxLength: 12 }).map((parts) => parts.join(""));
  const broken = fc
    .tuple(fc.json({ maxDepth: 5 }), fc.nat(), fc.constantFrom("", ...NEARLY))
    .map(([text, at, part]) => text.slice(0, at % (text.length + 1)) + part + text.slice((at % (text.length + 1)) + 1));
  fc.assert(
    fc.property(fc.oneof(nearly, broken, fc.json(), fc.string()), (text) => isJson(text) === isParsed(text)),
    { numRuns: 20_000 },
  );
});

test.each([
  ["", undefined, []],
  ["1", "scalar", []],
  ["{}", "object", []],
  [" [ ] ", "array", []],
  ["[[]]", "array", [["[]", undefined]]],
  [
    ' { "a" : { "b" : 1 } , "c" : [ 2 , { } ] , "d" : "x" } ',
    "object",
    [
      ['{ "b" : 1 }', "a"],
      ["[ 2 , { } ]", "c"],
      ['"x"', "d"],
    ],
  ],
  [
    "[1, -2.5e+3 ,true,null]",
    "array",
    [
      ["1", undefined],
      ["-2.5e+3", undefined],
      ["true", undefined],
      ["null", undefined],
    ],
  ],
  ['{"\\u0061":1}', "object", [["1", "a"]]],
])("the entries of %j", (text, kind, expected) => {
  const entries: unknown[] = [];
  expect(runAtOnce(scanJson(text, (start, end, name) => entries.push([text.slice(start, end), name])))).toBe(kind);
  expect(entries).toEqual(expected);
});
