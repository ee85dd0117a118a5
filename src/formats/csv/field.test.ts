import fc from "fast-check";
import { expect, test } from "vitest";
import { viewOf } from "../../result/chunk.ts";
import { createSink, renew, type Sink } from "../values/sink.ts";
import { fieldOf, quoteInPlace, writeField } from "./field.ts";

const BEFORE = 3;

function sinkOf(size: number): Sink {
  const sink = createSink();
  renew(sink, size);
  return sink;
}

/** The text stands somewhere in a larger buffer, as in a vector, between bytes that would need quotes. */
function written(text: string): string {
  const bytes = Buffer.from(`","${text}","`);
  const sink = sinkOf(0);
  const end = writeField(sink, BEFORE, viewOf(bytes), 3, bytes.length - 6);
  return sink.bytes.toString("utf8", BEFORE, end);
}

function quotedInPlace(text: string): string {
  const length = Buffer.byteLength(text);
  const sink = sinkOf(BEFORE + length);
  sink.bytes.write(text, BEFORE);
  const end = quoteInPlace(sink, BEFORE, BEFORE + length);
  return sink.bytes.toString("utf8", BEFORE, end);
}

test.each([
  ["", '""'],
  ["a", "a"],
  ["abc", "abc"],
  ["abcd", "abcd"],
  ["abcdefghi", "abcdefghi"],
  [",", '","'],
  ['"', '""""'],
  ["\r", '"\r"'],
  ["\n", '"\n"'],
  ["abcdefgh,", '"abcdefgh,"'],
  ['abc"defgh', '"abc""defgh"'],
  ['""""', '""""""""""'],
  ["a\r\nb", '"a\r\nb"'],
  // Nothing else has quotes: blanks at the ends, control characters, what looks like a formula.
  [" a ", " a "],
  ["a\tb\u0000c\u000bd\u001f", "a\tb\u0000c\u000bd\u001f"],
  ["\t", "\t"],
  ["=1+1", "=1+1"],
  ["-2+3;@x", "-2+3;@x"],
  ["'quoted'", "'quoted'"],
  // Bytes that differ in one bit from special ones, and characters whose UTF-8 has them after its first bit.
  ["\u008a\u008d\u00a2\u00ac", "\u008a\u008d\u00a2\u00ac"],
  ["#!.-*&", "#!.-*&"],
  ["äöü€🦆", "äöü€🦆"],
])("%j is the field %j", (text, expected) => {
  expect(fieldOf(text)).toBe(expected);
  expect(written(text)).toBe(expected);
  // Text that stands there already is JSON, and that is never empty.
  if (text !== "") expect(quotedInPlace(text)).toBe(expected);
});

test("all three ways make the same field of any text", () => {
  const special = fc.string({ unit: fc.constantFrom(...'",\r\n\t a1=é€🦆'), maxLength: 40 });
  fc.assert(
    fc.property(fc.oneof(special, fc.string({ unit: "binary", maxLength: 40 })), (text) => {
      const whole = text.toWellFormed();
      expect(written(whole)).toBe(fieldOf(whole));
      if (whole !== "") expect(quotedInPlace(whole)).toBe(fieldOf(whole));
    }),
    { numRuns: 2000 },
  );
});

test("a field after which the memory must grow", () => {
  const text = '"'.repeat(100_000);
  expect(written(text)).toBe(`"${text}${text}"`);
  expect(quotedInPlace(text)).toBe(`"${text}${text}"`);
});
