import fc from "fast-check";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { toYaml } from "./to-yaml.ts";

test("reads well", () => {
  const data = {
    openapi: "3.1.0",
    info: { title: "A: b", description: "One.\n\n  Two.\n", version: "1.0" },
    tags: ["no", "x", ["y", { z: [] }], []],
    paths: { "/a/{id}": { get: { "200": { $ref: "#/x" }, text: "a\nb", none: null, empty: {}, on: true, n: -1.5 } } },
    list: [{ a: 1, b: [{ c: "two\nlines" }] }],
  };
  expect(toYaml(data)).toBe(`openapi: "3.1.0"
info:
  title: "A: b"
  description: |
    One.

      Two.
  version: "1.0"
tags:
  - "no"
  - x
  - - "y"
    - z: []
  - []
paths:
  /a/{id}:
    get:
      "200":
        $ref: "#/x"
      text: |-
        a
        b
      none: null
      empty: {}
      "on": true
      "n": -1.5
list:
  - a: 1
    b:
      - c: |-
          two
          lines
`);
  expect(parse(toYaml(data))).toEqual(data);
});

test.each([
  "",
  " ",
  "~",
  "null",
  "yes",
  "No",
  "0x1f",
  "1e3",
  "2024-01-01",
  "- a",
  "a: b",
  "a #b",
  "#",
  "&a",
  "*a",
  "!a",
  "{a",
  "[a",
  "%a",
  "@a",
  "`a",
  "'",
  '"',
  "a\tb",
  "\n",
  "\n\n",
  "a\n\n",
  " a\nb",
  "a\n b\n",
  "a \nb",
  "a\r\nb",
  "é😀",
  "\u0000",
  "\u007f",
  "\u2028",
  "\ufeff",
  "\ud800",
  "<<",
  "?",
  ":",
  "-",
  "---",
  "...",
  "a\n---\nb",
  "a\n...\n",
])("%j reads as itself", (text) => {
  const wide = { [text]: text, list: [text, [text], { a: text }] };
  // A lone half of a character is no Unicode, and what nobody reads back.
  if (text.isWellFormed()) expect(parse(toYaml(wide))).toEqual(wide);
  expect(parse(toYaml(text))).toBe(text);
});

test("any JSON reads as itself", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      // YAML has one zero, and knows `__proto__` and `<<` as more than names.
      const data: unknown = JSON.parse(JSON.stringify(value));
      fc.pre(!/__proto__|"<<":/.test(JSON.stringify(data)));
      expect(parse(toYaml(data))).toEqual(data);
    }),
    { numRuns: 500 },
  );
});
