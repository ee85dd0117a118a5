import { expect, test } from "vitest";
import { comment, literal, objectKey, prose, typeKey } from "./source-text.ts";

test.each([
  ["plain", '"plain"'],
  [`" \\ \` \${x} \n`, `"\\" \\\\ \` \${x} \\n"`],
  ["\u2028\u2029\u202e\u200b\ufeff", '"\\u2028\\u2029\\u202e\\u200b\\ufeff"'],
  ["\ud800", '"\\ud800"'],
  ["日本 é 🦆", '"日本 é 🦆"'],
])("literal %j", (text, expected) => {
  expect(literal(text)).toBe(expected);
  expect(JSON.parse(literal(text))).toBe(text);
});

test("invisible characters beyond the first plane are escaped as two", () => {
  expect(literal("\u{e0001}")).toBe('"\\udb40\\udc01"');
});

test.each([
  ["name", "name", "name"],
  ["class", "class", "class"],
  ["1abc", '"1abc"', '"1abc"'],
  ["a-b", '"a-b"', '"a-b"'],
  ["ünï", '"ünï"', '"ünï"'],
  ["", '""', '""'],
  ["__proto__", "__proto__", '["__proto__"]'],
])("key %j", (name, inType, inObject) => {
  expect([typeKey(name), objectKey(name)]).toEqual([inType, inObject]);
});

test.each([
  [[], ""],
  [["", ""], ""],
  [["one"], "/** one */\n"],
  [["one", "two\nthree"], "/**\n * one\n *\n * two\n * three\n */\n"],
  [["a */ b **/ c"], "/** a *\\/ b **\\/ c */\n"],
  [["a\u2028b\r\nc\rd"], "/**\n * a\n * b\n * c\n * d\n */\n"],
  [["\u202e\u0000"], "/** \\u202e\\u0000 */\n"],
])("comment %j", (paragraphs, expected) => {
  expect(comment(paragraphs)).toBe(expected);
});

test("a comment ends where it ends", () => {
  for (const text of ["*/", "**/", "* /", "*\u200b/", "/*/", "*\n/"]) {
    const body = comment([text, text], "  ");
    expect(body.indexOf("*/")).toBe(body.length - 3);
  }
});

test("text of the author starts no tag", () => {
  expect(prose(" @deprecated, ann@example.com (@see) {@link x} @ ")).toBe(
    "\\@deprecated, ann@example.com (\\@see) {\\@link x} @",
  );
});
