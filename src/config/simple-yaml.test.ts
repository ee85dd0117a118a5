import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { maskDirectives } from "./directives.ts";
import { parseFullYaml } from "./full-yaml.ts";
import { parseSimpleYaml } from "./simple-yaml.ts";

/** Where the simple parser answers at all, it answers as the full one does. */
function expectSameAnswer(text: string): boolean {
  const simple = parseSimpleYaml(text);
  if (simple === undefined) return false;
  const full = parseFullYaml(text);
  expect(full.problems, text).toEqual([]);
  expect(simple, text).toEqual(full.root);
  return true;
}

test.each([
  "a: 1\nb: two words\nc: 'x: y'\n",
  "a:\n  - b: 1\n    c: 2\n  - b: 3\nd: [x, 'y z', \"w\", 4, -5, true]\n",
  "a:\n- x\n- y\nb:\n",
  "# c\n\na: x # y\n\n  # z\nb: 'it' # s\nc: [] # e\n",
  "a: -1\nb: 0\nc: false\nd: a#b\ne: /x/:id\nf: http://x\n",
  "a:\n  b:\n    c: d\n  e: f\ng: h",
  "a: \uFDD0\uFDD1\uFDEF\uFDEF\n\uFDD0\uFDD2\uFDEF:\nb: c\n",
  "a: größe\nb: 'ä'\nc: x\\y\nd: '\\s'\n",
])("reads %j", (text) => expect(expectSameAnswer(text)).toBe(true));

test.each([
  "a: &x 1\n",
  "a: *x\n",
  "a: !!str 1\n",
  "a: |\n  x\n",
  "a: {b: c}\n",
  "a: 1.10\n",
  "a: 007\n",
  "a: 0x1F\n",
  "a: ~\n",
  "a: Null\n",
  "a: x\n  y\n",
  "a: b: c\n",
  'a: "\\n"\n',
  "a: 'it''s'\n",
  "a: 1\na: 2\n",
  "a:\n\tb: 1\n",
  "a: 1\r\n",
  "? a\n: b\n",
  "- a\n",
  "text\n",
  "a: [b, [c]]\n",
  "a: [b,\n c]\n",
  "<<: x\n",
  "a: - b\n",
  "  a: 1\nb: 2\n",
  "a: @x\n",
  "true: 1\n",
  "---\na: 1\n",
  "",
])("leaves %j to the full parser", (text) => expect(parseSimpleYaml(text)).toBeUndefined());

const root = join(import.meta.dirname, "../../test");
const files = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.ya?ml$/.test(name))
  .map((name) => join(root, name))
  .filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile() === true);

test("agrees with the full parser about every YAML file of the tests", () => {
  const read = files.filter((file) => expectSameAnswer(maskDirectives(readFileSync(file, "utf8")).text));
  // Nearly all files are of the simple kind, or it would not be worth having.
  expect(read.length).toBeGreaterThan(files.length / 3);
});

const fragment = fc.constantFrom(
  ..."a: 1|b: x|c:|d: [x, 1, 'y']|- a: 1|- x|-|- - x|- 'q'|e: 'q' # c|f: \"q\"|# c|g: x # c|h: x #c|i: x#c| |j: a: b|k: [a b, c]|l: [|m: -|n: -x|o: - x|p: 1.5|q: true|r: null|s: ~|t: []|u: [ ]|v: [a,]|w: [,a]|x: ''|y: \"\"|z: 'a' b|a:b|a : b|b: x:|c: :x|d: a,b|e: a]b|f: }|g: '#'|h: [#]|i: [a #b]|j: $x|k: <x|l: =|m: %x|n: `x|o: \u00e9|p: é ü|q: 0o7|r: 1e3|s: -0|t: +1|u: .5|v: 'a|w: [a: b]|x: [a, 'b, c']|y: [\"a\"b]|z:  two  blanks  ".split(
    "|",
  ),
);
const line = fc
  .tuple(fc.constantFrom(0, 0, 0, 1, 2, 2, 4), fragment)
  .map(([indent, text]) => " ".repeat(indent) + text);

test("agrees with the full parser about random lines", () => {
  let read = 0;
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 6 }), (lines) => {
      if (expectSameAnswer(`${lines.join("\n")}\n`)) read++;
    }),
    { numRuns: 3_000, seed: 7 },
  );
  expect(read).toBeGreaterThan(50);
});
