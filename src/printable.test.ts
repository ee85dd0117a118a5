import fc from "fast-check";
import { expect, test } from "vitest";
import { escapeUnprintable, escapeUnprintableInLines } from "./printable.ts";

test.each([
  ["plain, é, 東京, 🦆", "plain, é, 東京, 🦆"],
  ["a\nb\r\tc", "a\\u000ab\\u000d\\u0009c"],
  ["\u001b[31mred\u0007", "\\u001b[31mred\\u0007"],
  ["\u007f\u009b2J\u0085", "\\u007f\\u009b2J\\u0085"],
  ["a\u2028b\u2029c", "a\\u2028b\\u2029c"],
  ["\u202eevil\u202c \u2066x\u2069 \u200f\u061c", "\\u202eevil\\u202c \\u2066x\\u2069 \\u200f\\u061c"],
  ["half \ud83e", "half \\ud83e"],
])("%j becomes %j", (text, shown) => {
  expect(escapeUnprintable(text)).toBe(shown);
});

test("lines stay lines where that is wanted", () => {
  expect(escapeUnprintableInLines("a\n\tb\u001b\r\n")).toBe("a\n\tb\\u001b\\u000d\n");
});

test("JSON stays the same JSON", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(JSON.parse(escapeUnprintable(JSON.stringify(text)))).toBe(text);
    }),
  );
});
