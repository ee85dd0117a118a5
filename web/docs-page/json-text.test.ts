import fc from "fast-check";
import { describe, expect, test } from "vitest";

interface JsonText {
  isJson(text: string): boolean;
  elementsOf(text: string): string[];
  membersOf(text: string): [string, string][];
  indentedTokens(text: string, limit?: number): Iterable<{ readonly kind: string; readonly text: string }>;
  parseExactly(text: string): unknown;
  readable(text: string): string;
}

// The page is JavaScript without types; the name is made so that the compiler does not look for them.
const { isJson, elementsOf, membersOf, indentedTokens, parseExactly, readable }: JsonText = await import(
  new URL("./json-text.js", import.meta.url).href
);

const shown = (text: string, limit?: number): string =>
  [...indentedTokens(text, limit)].map((token) => token.text).join("");

/** JSON texts, with spaces between the tokens or without. */
const jsonText = fc
  .tuple(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom(undefined, 1, "\t", " \r\n "))
  .map(([value, space]) => JSON.stringify(value, null, space));

test("on several lines it is still the same JSON", () => {
  fc.assert(
    fc.property(jsonText, (text) => {
      expect(JSON.parse(shown(text))).toEqual(JSON.parse(text));
    }),
  );
});

test("it looks as JSON.stringify would print it, numbers apart", () => {
  const value = { a: [], b: {}, c: [1, [2, {}], { d: null }], 'e"': "x{[,:\\" };
  expect(shown(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2));
});

test.each(["9007199254740993", "29.990", "-0.0", "1E+2", "123456789012345678901234567890.000000000000000001"])(
  "%s keeps its digits",
  (digits) => {
    expect(shown(`{"n":${digits},"l":[${digits}]}`)).toBe(`{\n  "n": ${digits},\n  "l": [\n    ${digits}\n  ]\n}`);
    expect(membersOf(`{"n":${digits}}`)).toEqual([["n", digits]]);
    expect(elementsOf(`[ ${digits} , ${digits}]`)).toEqual([digits, digits]);
  },
);

test("what is cut says so", () => {
  const tokens = [...indentedTokens(JSON.stringify(Array.from({ length: 1000 }, (_, i) => i)), 100)];
  expect(tokens.at(-1)).toEqual({ kind: "cut", text: "" });
  expect(tokens.length).toBeLessThan(100);
  expect([...indentedTokens("[1,2]", 3)].at(-1)?.kind).toBe("cut");
  expect([...indentedTokens("[1,2]", 100)].at(-1)?.kind).toBe("mark");
});

test("kinds of tokens", () => {
  const kinds = [...indentedTokens('{"k":["s",1,true,null]}')].filter(({ kind }) => kind !== "mark");
  expect(kinds).toEqual([
    { kind: "key", text: '"k"' },
    { kind: "string", text: '"s"' },
    { kind: "number", text: "1" },
    { kind: "word", text: "true" },
    { kind: "word", text: "null" },
  ]);
});

describe("parts", () => {
  test("elements of an array are its values", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.constantFrom(undefined, 2), (values, space) => {
        expect(elementsOf(JSON.stringify(values, null, space)).map((part) => JSON.parse(part))).toEqual(
          JSON.parse(JSON.stringify(values)),
        );
      }),
    );
  });

  test("members of an object come in their order, numbers as names too", () => {
    expect(membersOf('{ "b" : 1 , "2":"}", "1":{"x":[1]},"\\u0061":"\\\\" }')).toEqual([
      ["b", "1"],
      ["2", '"}"'],
      ["1", '{"x":[1]}'],
      ["a", '"\\\\"'],
    ]);
    expect(membersOf("{}")).toEqual([]);
    expect(elementsOf(" [ ] ")).toEqual([]);
  });

  test("text is read without its quotes, everything else as it is", () => {
    expect(['"a\\n\\"b"', "1.50", "[1]", "null"].map(readable)).toEqual(['a\n"b', "1.50", "[1]", "null"]);
  });
});

describe("a document", () => {
  test("is what JSON.parse makes of it", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        // Numbers that JSON.stringify writes are exact, save minus zero, which it writes as 0.
        const text = JSON.stringify(value);
        expect(JSON.stringify(parseExactly(text)).replaceAll(/\{"digits":"([^"]+)"\}/g, "$1")).toBe(text);
      }),
    );
  });

  test("keeps the digits that a double cannot", () => {
    expect(parseExactly('[1, 9007199254740993, 29.990, {"a": 1.5}]')).toEqual([
      1,
      { digits: "9007199254740993" },
      { digits: "29.990" },
      Object.assign(Object.create(null), { a: 1.5 }),
    ]);
  });

  test("has no prototype to pollute", () => {
    const parsed = parseExactly('{"__proto__":{"polluted":1},"constructor":2}');
    expect(Object.getPrototypeOf(parsed)).toBe(null);
    expect(Object.keys(Object(parsed))).toEqual(["__proto__", "constructor"]);
    expect({}).not.toHaveProperty("polluted");
  });
});

test.each([
  ['{"a":1}', true],
  ["1", true],
  ["", false],
  ["{", false],
  ["id,name\r\n1,a", false],
])("isJson %j: %s", (text, expected) => expect(isJson(text)).toBe(expected));
