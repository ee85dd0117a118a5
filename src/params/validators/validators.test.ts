import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { cpuMs } from "../../../test/cpu-time.ts";
import type { Validator } from "../parameter.ts";
import { validators, validatorTypes } from "./index.ts";
import { PlainScalar } from "./scalars.ts";

const validator = z.discriminatedUnion("type", validators);

/** Options as the loader hands them over: text as text, other YAML scalars with their source. */
type Options = Readonly<Record<string, unknown>>;

function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  return typeof value === "number" || typeof value === "boolean" ? new PlainScalar(value, String(value)) : value;
}

function parse(type: string, options: Options) {
  const entries = Object.entries(options).map(([key, value]) => [key, plain(value)]);
  return validator.safeParse({ type, ...Object.fromEntries(entries) });
}

function compile(type: string, options: Options): Validator {
  return parse(type, options).data ?? expect.fail(`${type} ${JSON.stringify(options)} does not compile`);
}

const outcome = (type: string, options: Options, text: string) => {
  const checked = compile(type, options).check(text);
  return checked.ok ? { value: checked.value } : checked.message;
};

test("the list knows its names", () => {
  expect(validatorTypes).toEqual(["int", "string", "enum", "email", "uuid", "date", "time", "number", "boolean"]);
});

describe("values that pass", () => {
  test.each<[string, Options, string, string | bigint | boolean]>([
    ["int", {}, "42", 42n],
    ["int", {}, "+42", 42n],
    ["int", {}, "-42", -42n],
    ["int", {}, "-0", 0n],
    ["int", {}, "0042", 42n],
    ["int", {}, `${"0".repeat(100)}7`, 7n],
    ["int", {}, "9223372036854775807", 9223372036854775807n],
    ["int", {}, "-9223372036854775808", -9223372036854775808n],
    ["int", { min: 1, max: 3 }, "1", 1n],
    ["int", { min: 1, max: 3 }, "3", 3n],
    ["int", { min: "-5" }, "-5", -5n],
    ["int", { max: new PlainScalar(9007199254740992, "9007199254740993") }, "9007199254740993", 9007199254740993n],
    ["string", {}, "", ""],
    ["string", {}, "any text", "any text"],
    ["string", { min: 2, max: 2 }, "ab", "ab"],
    ["string", { max: 2 }, "😀😀", "😀😀"],
    ["string", { min: 2, max: 3 }, "é日", "é日"],
    ["string", { "min-length": 1, "max-length": 4 }, "abcd", "abcd"],
    ["string", { regex: "[a-z]+" }, "abc", "abc"],
    ["string", { regex: "^[a-z]+$" }, "abc", "abc"],
    ["string", { regex: "^\\d{3}-\\w+$" }, "123-x_1", "123-x_1"],
    ["string", { regex: "a|ab" }, "ab", "ab"],
    ["string", { regex: "(?i)abc" }, "ABC", "ABC"],
    ["string", { regex: "\\p{L}+" }, "Ærøskøbing", "Ærøskøbing"],
    ["string", { regex: "\\u00e9+" }, "éé", "éé"],
    ["string", { regex: "." }, "😀", "😀"],
    ["string", { regex: "(?<year>[0-9]{4})" }, "2024", "2024"],
    ["string", { regex: 42 }, "42", "42"],
    ["enum", { allowedValues: ["a", "b"] }, "b", "b"],
    ["enum", { allowedValues: [1, 2] }, "2", "2"],
    ["enum", { allowedValues: [true, "x"] }, "true", "true"],
    ["enum", { allowedValues: [new PlainScalar(1.1, "1.10")] }, "1.10", "1.10"],
    ["enum", { allowedValues: [new PlainScalar(null, "null")] }, "null", "null"],
    ["enum", { allowedValues: [""] }, "", ""],
    ["email", {}, "a@example.com", "a@example.com"],
    ["email", {}, "o'brien+news@mail.example.co.uk", "o'brien+news@mail.example.co.uk"],
    ["email", {}, "jörg@exämple.de", "jörg@exämple.de"],
    ["email", {}, "a.b-c_d@1und1.de", "a.b-c_d@1und1.de"],
    ["email", {}, "x@xn--bcher-kva.example", "x@xn--bcher-kva.example"],
    ["uuid", {}, "123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"],
    ["uuid", {}, "123E4567-E89B-12D3-A456-426614174000", "123E4567-E89B-12D3-A456-426614174000"],
    ["date", {}, "2024-02-29", "2024-02-29"],
    ["date", {}, "2000-02-29", "2000-02-29"],
    ["date", {}, "0001-01-01", "0001-01-01"],
    ["date", {}, "9999-12-31", "9999-12-31"],
    ["date", { min: "2024-01-01", max: "2024-12-31" }, "2024-01-01", "2024-01-01"],
    ["date", { min: "2024-01-01", max: "2024-12-31" }, "2024-12-31", "2024-12-31"],
    ["time", {}, "00:00:00", "00:00:00"],
    ["time", {}, "23:59:59.999999", "23:59:59.999999"],
    ["time", { min: "09:00:00", max: "17:00:00" }, "09:00:00.000", "09:00:00.000"],
    ["time", { min: "09:00:00", max: "17:00:00" }, "17:00:00.0", "17:00:00.0"],
    ["time", { max: "17:00:00.5" }, "17:00:00.500", "17:00:00.500"],
    ["number", {}, "29.99", "29.99"],
    ["number", {}, "-1.50", "-1.50"],
    ["number", {}, "+5", "5"],
    ["number", {}, ".5", "0.5"],
    ["number", {}, "-5.", "-5"],
    ["number", {}, "+.5E-3", "0.5E-3"],
    ["number", {}, "1e3", "1e3"],
    ["number", {}, "12345678901234567890", "12345678901234567890"],
    ["number", { min: "0.1" }, "0.10", "0.10"],
    ["number", { min: 0.1, max: 0.3 }, "0.1000000000000000000000000001", "0.1000000000000000000000000001"],
    ["number", { min: -1, max: "1e2" }, "100.0", "100.0"],
    ["boolean", {}, "true", true],
    ["boolean", {}, "FALSE", false],
  ])("%s %j: %j", (type, options, text, value) => expect(outcome(type, options, text)).toEqual({ value }));
});

describe("values that do not", () => {
  test.each<[string, Options, string, readonly string[]]>([
    [
      "int",
      {},
      "Invalid integer value",
      ["", " ", "4.2", "4e2", "abc", "--4", "+", " 4", "4 ", "4\n", "0x10", "1_000", "٤", "9223372036854775808"],
    ],
    ["int", {}, "Invalid integer value", ["-9223372036854775809", "9".repeat(1_000_000)]],
    ["int", { min: 1 }, "Integer is less than the minimum allowed value", ["0", "-5"]],
    ["int", { max: 10 }, "Integer is greater than the maximum allowed value", ["11", "9007199254740993"]],
    ["string", { min: 3 }, "String is shorter than the minimum allowed length", ["", "ab", "😀😀"]],
    ["string", { max: 3 }, "String is longer than the maximum allowed length", ["abcd", "😀😀😀😀", "abc😀"]],
    ["string", { "min-length": 1 }, "String is shorter than the minimum allowed length", [""]],
    ["string", { "max-length": 1 }, "String is longer than the maximum allowed length", ["ab"]],
    ["string", { regex: "[a-z]+" }, "Invalid string format", ["abc1", "1abc", "", "abc\n", "ABC", "abc\ndef"]],
    ["string", { regex: "^a|b$" }, "Invalid string format", ["ax", "xb"]],
    ["enum", { allowedValues: ["a", "b"] }, "Invalid enum value", ["c", "A", "", " a", "a ", "' OR '1'='1"]],
    [
      "email",
      {},
      "Invalid email format",
      ["", "a", "@b.com", "a@", "a@b", "a b@c.com", "a@b..com", ".a@b.com", "a.@b.com", "a..b@c.com", "a@-b.com"],
    ],
    [
      "email",
      {},
      "Invalid email format",
      [
        "a@b.com\n",
        "a@b.c",
        "a@b.123",
        "a@b@c.com",
        "a@b_c.com",
        `${"a".repeat(65)}@b.com`,
        `a@${"b.".repeat(130)}com`,
      ],
    ],
    [
      "uuid",
      {},
      "Invalid UUID format",
      [
        "",
        "123e4567e89b12d3a456426614174000",
        "{123e4567-e89b-12d3-a456-426614174000}",
        "g23e4567-e89b-12d3-a456-426614174000",
      ],
    ],
    [
      "date",
      {},
      "Invalid date format",
      ["", "2023-02-29", "1900-02-29", "2024-04-31", "2024-13-01", "2024-00-10", "2024-01-00", "24-01-01", "2024-1-1"],
    ],
    ["date", {}, "Invalid date format", ["0000-01-01", "2024/01/01", "2024-01-01T00:00:00", " 2024-01-01", "infinity"]],
    ["date", { min: "2024-01-01" }, "Date is before the minimum allowed date", ["2023-12-31", "0001-01-01"]],
    ["date", { max: "2024-01-01" }, "Date is after the maximum allowed date", ["2024-01-02", "9999-12-31"]],
    [
      "time",
      {},
      "Invalid time format",
      ["", "24:00:00", "12:60:00", "12:00:60", "12:00", "1:00:00", "12:00:00.", "12:00:00Z", "12:00:00.1234567890"],
    ],
    ["time", { min: "09:00:00" }, "Time is before the minimum allowed time", ["08:59:59", "08:59:59.999999"]],
    ["time", { max: "17:00:00" }, "Time is after the maximum allowed time", ["17:00:01", "17:00:00.000001"]],
    [
      "number",
      {},
      "Invalid number value",
      [
        "",
        ".",
        "-",
        "e5",
        "1e",
        "1,5",
        "NaN",
        "Infinity",
        "-inf",
        "0x10",
        "1_0",
        "1e400",
        "9".repeat(400),
        "1 ",
        "--1",
      ],
    ],
    [
      "number",
      { min: "0.3" },
      "Number is less than the minimum allowed value",
      ["0.29999999999999999999", "-1", "0", "1e-5"],
    ],
    [
      "number",
      { max: "0.3" },
      "Number is greater than the maximum allowed value",
      ["0.30000000000000000001", "1", "1e1"],
    ],
    ["number", { max: -5 }, "Number is greater than the maximum allowed value", ["-4.99", "0", "5"]],
    ["boolean", {}, "Invalid boolean value", ["", "1", "0", "yes", "truee", " true"]],
  ])("%s %j: %s", (type, options, message, texts) => {
    for (const text of texts) expect(outcome(type, options, text), text.slice(0, 50)).toBe(message);
  });
});

describe("options that do not compile", () => {
  test.each<[string, Options, string, string]>([
    ["int", { min: "abc" }, "min", "expected an integer, found 'abc'"],
    ["int", { min: 1.5 }, "min", "expected an integer, found '1.5'"],
    ["int", { min: ["1"] }, "min", "expected an integer, found a list"],
    ["int", { min: 5, max: 1 }, "max", "max 1 is less than min 5"],
    ["int", { max: "9223372036854775808" }, "max", "outside the 64-bit range"],
    ["int", { regex: "x" }, "", 'Unrecognized key: "regex"'],
    ["int", { preventSqlInjection: "maybe" }, "preventSqlInjection", "expected true or false, found 'maybe'"],
    ["string", { min: -1 }, "min", "expected a length of 0 or more"],
    ["string", { min: 3, max: 2 }, "max", "max 2 is less than min 3"],
    ["string", { min: 3, "min-length": 3 }, "min-length", "means the same as min; give one"],
    ["string", { regex: "[a-" }, "regex", "bad regular expression: missing closing ]: `[a-`"],
    ["enum", {}, "allowedValues", "expected a list of allowed values, found nothing"],
    ["enum", { allowedValues: "a" }, "allowedValues", "expected a list of allowed values, found 'a'"],
    ["enum", { allowedValues: [] }, "allowedValues", "expected at least one allowed value"],
    ["enum", { allowedValues: [{}] }, "allowedValues.0", "expected a string, found a mapping"],
    ["email", { min: 1 }, "", 'Unrecognized key: "min"'],
    ["date", { min: "2023-02-29" }, "min", "expected a date YYYY-MM-DD, found '2023-02-29'"],
    ["date", { min: 2024 }, "min", "expected a date YYYY-MM-DD, found '2024'"],
    ["date", { min: "2024-01-02", max: "2024-01-01" }, "max", "max 2024-01-01 is less than min 2024-01-02"],
    ["time", { max: "25:00:00" }, "max", "expected a time HH:MM:SS, found '25:00:00'"],
    ["time", { min: "10:00:00.5", max: "10:00:00" }, "max", "max 10:00:00 is less than min 10:00:00.5"],
    ["number", { min: "x" }, "min", "expected a number, found 'x'"],
    ["number", { min: new PlainScalar(Number.NaN, ".nan") }, "min", "expected a number, found '.nan'"],
    ["number", { min: "0.30", max: "0.3e0" }, "", ""],
    ["number", { min: "0.31", max: "0.3" }, "max", "max 0.3 is less than min 0.31"],
    ["boolean", { min: 1 }, "", 'Unrecognized key: "min"'],
  ])("%s %j", (type, options, path, message) => {
    const issues = parse(type, options).error?.issues ?? [];
    expect(issues.map((issue) => [issue.path.join("."), issue.message])).toEqual(
      message === "" ? [] : [[path, message]],
    );
  });

  test.each([
    ["(?=a)b", "lookahead"],
    ["(?!a)b", "lookahead"],
    ["(?<=a)b", "lookbehind"],
    ["(?<!a)b", "lookbehind"],
    ["(a)\\1", "backreference"],
    ["a++", "possessive"],
    ["(?>a)", "atomic"],
  ])("regex %s says why", (regex, word) => {
    const message = parse("string", { regex }).error?.issues[0]?.message;
    expect(message).toContain(word);
    expect(message).toContain("linear time");
  });
});

test("an author's pattern cannot be made to run long", async () => {
  for (const regex of ["(a+)+$", "(a|aa)+", "(.*a){20}", "^(([a-z])+.)+[A-Z]([a-z])+$"]) {
    const { check } = compile("string", { regex });
    expect(await cpuMs(() => check(`${"a".repeat(50_000)}!`)), regex).toBeLessThan(1_000);
  }
});

test.each([
  ["number", "1.5", "DECIMAL"],
  ["number", "00012", "DECIMAL"],
  ["number", "9".repeat(38), "DECIMAL"],
  ["number", `-0.${"1".repeat(38)}`, "DECIMAL"],
  ["number", `${"0".repeat(50)}1`, "DECIMAL"],
  ["number", "9".repeat(39), "DOUBLE"],
  ["number", `1.${"1".repeat(38)}`, "DOUBLE"],
  ["number", "1e3", "DOUBLE"],
  ["int", "1", "BIGINT"],
  ["string", "1", "VARCHAR"],
  ["email", "a@b.com", "VARCHAR"],
  ["uuid", "x", "VARCHAR"],
  ["date", "2024-01-01", "DATE"],
  ["time", "10:00:00", "TIME"],
  ["boolean", "true", "BOOLEAN"],
])("%s binds %s as %s", (type, text, databaseType) => expect(compile(type, {}).databaseType(text)).toBe(databaseType));

test.each<[string, Options, boolean]>([
  ["int", {}, false],
  ["string", {}, true],
  ["string", { preventSqlInjection: false }, false],
  ["string", { preventSqlInjection: "false" }, false],
  ["email", {}, true],
  ["uuid", {}, false],
  ["date", {}, false],
  ["time", {}, false],
  ["number", {}, false],
  ["boolean", {}, false],
  ["enum", { allowedValues: ["a"] }, false],
])("%s %j scans for injection: %s", (type, options, scans) => {
  expect(compile(type, options).scansForInjection).toBe(scans);
});

test.each<[string, Options, object]>([
  ["int", {}, { type: "integer", format: "int64" }],
  ["int", { min: 1, max: "9007199254740993" }, { type: "integer", format: "int64", minimum: 1 }],
  ["string", {}, { type: "string" }],
  ["string", { min: 1, max: 5, regex: "a|b" }, { type: "string", minLength: 1, maxLength: 5, pattern: "^(?:a|b)$" }],
  ["string", { regex: "^[a-z]+$" }, { type: "string", pattern: "^[a-z]+$" }],
  ["string", { regex: "(?i)a" }, { type: "string" }],
  ["enum", { allowedValues: ["a", 1] }, { type: "string", enum: ["a", "1"] }],
  ["email", {}, { type: "string", format: "email" }],
  ["uuid", {}, { type: "string", format: "uuid" }],
  ["date", {}, { type: "string", format: "date" }],
  ["date", { min: "2024-01-01" }, { type: "string", format: "date", description: "from 2024-01-01" }],
  ["number", { min: "0.5", max: 0 + 2 }, { type: "number", minimum: 0.5, maximum: 2 }],
  ["boolean", {}, { type: "boolean" }],
])("%s %j has a JSON Schema", (type, options, schema) => {
  const compiled = compile(type, options).jsonSchema;
  expect(compiled).toEqual(schema);
  expect(JSON.parse(JSON.stringify(compiled))).toEqual(compiled);
});

test("every 64-bit integer passes, and no other", () => {
  const { check } = compile("int", {});
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 66n), max: 2n ** 66n }), (value) => {
      expect(check(String(value)).ok).toBe(BigInt.asIntN(64, value) === value);
    }),
  );
});

test("dates pass when JavaScript's calendar has them", () => {
  const { check } = compile("date", {});
  const pad = (value: number, width: number) => String(value).padStart(width, "0");
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9999 }), fc.nat(13), fc.nat(32), (year, month, day) => {
      const text = `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`;
      const date = new Date(`${text}T00:00:00Z`);
      const exists = !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
      expect(check(text).ok).toBe(exists);
    }),
  );
});

test("decimals compare as their exact values do", () => {
  const scaled = fc.tuple(fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), fc.nat(25));
  const write = ([digits, scale]: readonly [bigint, number]) => `${digits}e-${scale}`;
  fc.assert(
    fc.property(scaled, scaled, (left, right) => {
      const exact = left[0] * 10n ** BigInt(right[1]) < right[0] * 10n ** BigInt(left[1]);
      const message = outcome("number", { min: write(right) }, write(left));
      expect(message === "Number is less than the minimum allowed value").toBe(exact);
    }),
  );
});

test("lengths are counted in code points", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.nat(12), (text, bound) => {
      const length = [...text].length;
      expect(compile("string", { min: bound }).check(text).ok).toBe(length >= bound);
      expect(compile("string", { max: bound }).check(text).ok).toBe(length <= bound);
    }),
  );
});
