import { expect, test } from "vitest";
import { nearest, suggestion } from "./suggest.ts";

const keys = ["url-path", "method", "cache", "int", "string"];

test.each([
  ["url_path", "url-path"],
  ["urlpath", "url-path"],
  ["methdo", "method"],
  ["Cache", "cache"],
  ["integer", "int"],
  ["str", "string"],
  ["zzz", undefined],
  ["", undefined],
])("%s: did you mean %s?", (word, expected) => expect(suggestion(word, keys)).toBe(expected));

test("a beginning is not a slip of the keyboard", () => {
  expect(nearest("integer", keys)).toBeUndefined();
  expect(nearest("mcp", ["mcp-tool"])).toBeUndefined();
});
