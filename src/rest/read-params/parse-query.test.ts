import fc from "fast-check";
import { expect, test } from "vitest";
import { parsePath } from "./parse-path.ts";
import { parseQuery } from "./parse-query.ts";
import { encodeByte } from "./percent.ts";

/** A string as Node represents its UTF-8 bytes: one character per byte. */
const asLatin1 = (text: string) => Buffer.from(text, "utf8").toString("latin1");

const texts = (values: ReadonlyMap<string, { readonly text: string }>) =>
  [...values].map(([name, value]) => [name, value.text]);

test.each<[string, [string, string][]]>([
  ["", []],
  ["&&", []],
  [
    "a=1&b=2",
    [
      ["a", "1"],
      ["b", "2"],
    ],
  ],
  ["a=1&a=2", [["a", "1"]]],
  ["a=1&%61=2", [["a", "1"]]],
  ["a", [["a", ""]]],
  ["a=", [["a", ""]]],
  ["=1", [["", "1"]]],
  ["a=b=c", [["a", "b=c"]]],
  ["a=1;b=2", [["a", "1;b=2"]]],
  ["a=x+y%2B%20", [["a", "x y+ "]]],
  ["a+b=1", [["a b", "1"]]],
  ["q=%F0%9F%98%80", [["q", "😀"]]],
  ["q=%00", [["q", "\0"]]],
  ["q=%EF%BB%BFx", [["q", "\ufeffx"]]],
  [asLatin1("q=é日😀"), [["q", "é日😀"]]],
  [`${asLatin1("é=")}%C3%A9`, [["é", "é"]]],
  [
    "__proto__=1&constructor=2",
    [
      ["__proto__", "1"],
      ["constructor", "2"],
    ],
  ],
  ["filter[a]=1", [["filter[a]", "1"]]],
])("%j", (query, expected) => {
  const { values, errors } = parseQuery(query);
  expect(texts(values)).toEqual(expected);
  expect(errors).toEqual([]);
});

test.each([
  ["a=%", "a"],
  ["a=%4", "a"],
  ["a=%zz", "a"],
  ["a=%FF", "a"],
  ["a=%C3", "a"],
  ["a=%C0%AF", "a"],
  ["a=%ED%A0%80", "a"],
  ["a=%F5%80%80%80", "a"],
  ["a=\u00e9", "a"],
  ["a%=1", "a%"],
  ["b=1&a=%&a=2", "a"],
])("%j is malformed", (query, field) => {
  expect(parseQuery(query).errors).toEqual([{ field, message: "Invalid percent-encoding" }]);
});

test("a second value of a name is ignored, even if malformed", () =>
  expect(parseQuery("a=1&a=%zz").errors).toEqual([]));

test("path segments: a plus is a plus, a slash may be escaped", () => {
  const { values, errors } = parsePath([
    ["id", "a+b%2Fc%20d"],
    ["name", asLatin1("é")],
  ]);
  expect(texts(values)).toEqual([
    ["id", "a+b/c d"],
    ["name", "é"],
  ]);
  expect(errors).toEqual([]);
  expect(parsePath([["id", "%E0%A4%A"]]).errors).toEqual([{ field: "id", message: "Invalid percent-encoding" }]);
});

const names = fc.dictionary(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }), {
  noNullPrototype: true,
});

test("parses the output of encodeURIComponent and URLSearchParams", () => {
  fc.assert(
    fc.property(names, (pairs) => {
      const entries = Object.entries(pairs);
      const encoded = entries.map((pair) => pair.map(encodeURIComponent).join("=")).join("&");
      expect(texts(parseQuery(encoded).values)).toEqual(entries);
      expect(texts(parseQuery(new URLSearchParams(entries).toString()).values)).toEqual(entries);
    }),
  );
});

test("any query is either parsed or rejected", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("a", "=", "&", "%", "4", "+", "\u00c3", "\u00a9") }), (query) => {
      const { values, errors } = parseQuery(query);
      if (errors.length > 0) return;
      // A character may come half as a raw byte and half as an escape.
      const escaped = query.replace(/[\u0080-\u00ff]/g, encodeByte);
      const expected = new Map([...new URLSearchParams(escaped)].reverse());
      expect(Object.fromEntries(texts(values))).toEqual(Object.fromEntries(expected));
    }),
  );
});
