import fc from "fast-check";
import { expect, test } from "vitest";
import { cpuMs } from "../../../test/cpu-time.ts";
import type { Numbers } from "./call.ts";
import { parseExact } from "./exact-json.ts";

test("it reads what JSON.parse reads", () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(undefined, 1, 2), (json, indent) => {
      const text = JSON.stringify(JSON.parse(json), null, indent);
      expect(parseExact(text, "number")).toEqual(JSON.parse(text));
    }),
  );
});

test("it refuses what JSON.parse refuses", () => {
  const pieces = fc.constantFrom("{", "}", "[", "]", ",", ":", '"a"', '"', "\\", "1", "-", "null", "tru", " ", "x");
  const isJson = (parse: () => unknown): boolean => {
    try {
      parse();
      return true;
    } catch {
      return false;
    }
  };
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => {
      const text = parts.join("");
      // Numbers with zeros in front are not JSON.
      expect(isJson(() => parseExact(text, "json"))).toBe(isJson(() => JSON.parse(text)));
    }),
    { numRuns: 2_000 },
  );
});

test.each<[string, Numbers, unknown]>([
  ["12345678901234567890", "bigint", 12345678901234567890n],
  ["1.10", "text", "1.10"],
  ["1.10", "number", 1.1],
  ["[1, null, true, 2]", "bigint", [1n, null, true, 2n]],
  ['{"a": [1], "b": 1}', { fields: { a: "bigint" } }, { a: [1n], b: 1 }],
  ['[{"a": 1}, {"a": 2}]', { fields: { a: "text" } }, [{ a: "1" }, { a: "2" }]],
  ['{"x": {"a": 1}}', { each: { fields: { a: "bigint" } } }, { x: { a: 1n } }],
  [
    '{"a": [9007199254740993, -9007199254740993, 7, 1.5, 1e30]}',
    "json",
    { a: [9007199254740993n, -9007199254740993n, 7, 1.5, 1e30] },
  ],
  ["[9007199254740993, 7]", "json-text", ["9007199254740993", 7]],
  ['{"toString": 1, "constructor": 2}', { fields: {} }, { toString: 1, constructor: 2 }],
  ['"a \\\\\\" b \\\\"', "number", 'a \\" b \\'],
])("%s as %j", (text, numbers, expected) => {
  expect(parseExact(text, numbers)).toEqual(expected);
});

test("a key changes no prototype", () => {
  const parsed = parseExact('{"__proto__": 1, "a": {"__proto__": {"b": 2}}}', { fields: { ["__proto__"]: "bigint" } });
  expect(Object.entries(parsed as object)[0]).toEqual(["__proto__", 1n]);
  expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
});

test("many rows and long texts take time in proportion", async () => {
  const rows = JSON.stringify(Array.from({ length: 20_000 }, (_, id) => ({ id, text: '\\"'.repeat(50) })));
  const ms = await cpuMs(() => {
    expect(parseExact(rows, { fields: { id: "bigint" } })).toHaveLength(20_000);
    expect(parseExact(JSON.stringify("\\".repeat(1_000_001)), "number")).toHaveLength(1_000_001);
  });
  expect(ms).toBeLessThan(10_000);
});
