import fc from "fast-check";
import { expect, test } from "vitest";
import { runAtOnce } from "../../slices.ts";
import { parseBody } from "./parse-body.ts";

const parseBytes = (bytes: Buffer) => runAtOnce(parseBody(bytes, () => []));
const parse = (body: string) => parseBytes(Buffer.from(body));
const members = (body: string) =>
  Object.fromEntries([...parse(body).values].map(([name, { kind, text }]) => [name, kind === "json" ? [text] : text]));

test.each<[string, object]>([
  ["", {}],
  ["{}", {}],
  [" \n{ \t} \r\n", {}],
  ["\ufeff{}", {}],
  ['{"a":"b"}', { a: "b" }],
  [
    '{"a":29.99,"b":12345678901234567890,"c":1.50e+2,"d":-0}',
    { a: "29.99", b: "12345678901234567890", c: "1.50e+2", d: "-0" },
  ],
  ['{ "a" : 1 , "b" : true , "c" : false , "d" : null }', { a: "1", b: "true", c: "false" }],
  ['{"a":""}', { a: "" }],
  ['{"a":"\\u00e9\\n\\"\\\\\\/\\ud83d\\ude00"}', { a: 'é\n"\\/😀' }],
  ['{"a":"é😀"}', { a: "é😀" }],
  ['{"a":"\\ud800"}', { a: "\ud800" }],
  ['{"\\u0061":1}', { a: "1" }],
  ['{"a":1,"a":2}', { a: "2" }],
  ['{"a":1,"a":null}', {}],
  ['{"a":{"b": [1.10, "}\\"]"]}, "c": [ ]}', { a: ['{"b": [1.10, "}\\"]"]}'], c: ["[ ]"] }],
  ['{"a":"\\\\","b":"\\\\\\""}', { a: "\\", b: '\\"' }],
  ['{"":1}', { "": "1" }],
  ['{"constructor":1}', { constructor: "1" }],
  ['{\n\t"a"\r\n:\n1\n}', { a: "1" }],
])("%j", (body, expected) => {
  expect(parse(body).errors).toEqual([]);
  expect(members(body)).toEqual(expected);
});

test("__proto__ is a name", () => {
  expect([...parse('{"__proto__":"x"}').values]).toEqual([["__proto__", { kind: "text", text: "x" }]]);
});

test.each([
  " ",
  "{",
  '{"a"}',
  "{'a':1}",
  '{"a":01}',
  '{"a":1,}',
  '{"a":NaN}',
  '{"a":"\n"}',
  "{} {}",
  "a=1",
  "\ufeff",
  "\ufeff\ufeff{}",
])("%j is not JSON", (body) =>
  expect(parse(body).errors).toEqual([{ field: "body", message: "Request body is not valid JSON" }]),
);

test.each([
  [[0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]],
  [[0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]],
  [[0x22, 0xed, 0xa0, 0x80, 0x22]],
])("bytes %j are not UTF-8", (bytes) =>
  expect(parseBytes(Buffer.from(bytes)).errors).toEqual([{ field: "body", message: "Request body is not valid JSON" }]),
);

test.each(["[]", "[1]", "1", '"a"', "true", "null"])("%s is not an object", (body) =>
  expect(parse(body).errors).toEqual([{ field: "body", message: "Request body must be a JSON object" }]),
);

test.each([100_000, 500_000])("%d levels of nesting are text like any other", (depth) => {
  const nested = "[".repeat(depth) + "]".repeat(depth);
  expect(parse(`{"a":${nested}}`).values.get("a")).toEqual({ kind: "json", text: nested });
  expect(parse(nested).errors).toHaveLength(1);
  expect(parse(`{"a":${"[".repeat(depth)}`).errors).toHaveLength(1);
});

test("any object parses the same as with JSON.parse", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue()),
      fc.constantFrom(0, 2, "\t"),
      (object, space) => {
        const json = JSON.stringify(object, null, space);
        const { values, errors } = parse(json);
        const expected = Object.entries(JSON.parse(json)).filter(([, value]) => value !== null);
        expect(errors).toEqual([]);
        expect([...values.keys()].sort()).toEqual(expected.map(([name]) => name).sort());
        for (const [name, value] of expected) {
          const text = values.get(name)?.text ?? "";
          if (typeof value === "string") expect(text).toBe(value);
          else expect(JSON.parse(text)).toEqual(value);
        }
      },
    ),
  );
});
