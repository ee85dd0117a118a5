import fc from "fast-check";
import { expect, test } from "vitest";
import { cleanJson } from "./clean-json.ts";

test.each([
  ['{"a": 1}', '{"a": 1}'],
  ["12345678901234567890.10", "12345678901234567890.10"],
  ["[1,2,]", "[1,2]"],
  ['{"a":[1 , ] , }', '{"a":[1]}'],
  ["nan", "null"],
  ["[NaN,-Infinity,inf,-inf]", "[null,null,null,null]"],
  ['{"NaN":"Infinity,]","b":NaN}', '{"NaN":"Infinity,]","b":null}'],
  ['"a \\"nan\\" ,]"', '"a \\"nan\\" ,]"'],
  ['[1,\r\n\t2, "a\\n b"]', '[1,2,"a\\n b"]'],
  ["not json", '"not json"'],
  ['{"a":', '"{\\"a\\":"'],
  ["", '""'],
])("%j becomes %j", (text, expected) => {
  expect(cleanJson(text)).toBe(expected);
});

test("any JSON keeps its meaning, on one line", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 2), (value, indent) => {
      const text = JSON.stringify(value, undefined, indent);
      const clean = cleanJson(text);
      // Against what the text means, not against the value: JSON text has no minus zero of its own.
      expect(JSON.parse(clean)).toEqual(JSON.parse(text));
      expect(clean).not.toMatch(/[\n\r]/);
    }),
  );
});
