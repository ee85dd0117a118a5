import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Parameter, RawParams, RawValue } from "./parameter.ts";
import { type ParamRules, validateParams } from "./validate-params.ts";
import { validators } from "./validators/index.ts";

const validator = z.discriminatedUnion("type", validators);

type Declaration = Partial<Omit<Parameter, "validators">> & { readonly validators?: readonly object[] };

function declare(name: string, { validators: options = [], ...rest }: Declaration = {}): Parameter {
  const compiled = options.map((option) => validator.parse(option));
  return {
    name,
    in: "query",
    description: undefined,
    required: false,
    default: undefined,
    ...rest,
    validators: compiled,
  };
}

type Sent = Partial<Record<keyof RawParams, Readonly<Record<string, string | RawValue>>>>;

function send(sent: Sent): RawParams {
  const values = (location: keyof RawParams) =>
    new Map(
      Object.entries(sent[location] ?? {}).map(([name, value]): [string, RawValue] => [
        name,
        typeof value === "string" ? { kind: "text", text: value } : value,
      ]),
    );
  return { query: values("query"), path: values("path"), header: values("header"), body: values("body") };
}

const page = { paginated: true, defaultPageSize: 100, maxPageSize: 1000 };

function validate(declared: readonly Parameter[], sent: Sent, rules: Partial<ParamRules> = {}) {
  const validated = validateParams(declared, send(sent), {
    rejectsUnknown: false,
    enforcedEnums: undefined,
    page,
    ...rules,
  });
  if (!validated.ok) return { errors: validated.errors.map(({ field, message }) => `${field}: ${message}`) };
  return { params: Object.fromEntries(validated.params), page: validated.page };
}

const int = { type: "int" };
const text = (value: string) => ({ text: value, type: "VARCHAR", value });

describe("values", () => {
  test("without validators a value is text", () => {
    expect(validate([declare("q")], { query: { q: "' OR '1'='1" } })).toMatchObject({
      params: { q: text("' OR '1'='1") },
    });
  });

  test("the first validator gives type and value", () => {
    const id = declare("id", { validators: [int, { type: "number", max: "5" }] });
    expect(validate([id], { query: { id: "+3" } })).toMatchObject({
      params: { id: { text: "+3", type: "BIGINT", value: 3n } },
    });
  });

  test("all validators must pass, the first that fails speaks", () => {
    const id = declare("id", { validators: [int, { type: "string", max: "2" }] });
    expect(validate([id], { query: { id: "x" } })).toEqual({ errors: ["id: Invalid integer value"] });
    expect(validate([id], { query: { id: "123" } })).toEqual({
      errors: ["id: String is longer than the maximum allowed length"],
    });
  });

  test("a value of a fixed list stays the author's text", () => {
    const size = declare("size", { validators: [int, { type: "enum", allowedValues: ["1", "2"] }] });
    expect(validate([size], { query: { size: "2" } })).toMatchObject({ params: { size: text("2") } });
    expect(validate([size], { query: { size: "3" } })).toEqual({ errors: ["size: Invalid enum value"] });
  });

  test("absent is not empty", () => {
    const declared = [declare("a"), declare("b", { validators: [int] }), declare("c", { required: true })];
    expect(validate(declared, { query: { a: "", b: "", c: "" } })).toEqual({ errors: ["b: Invalid integer value"] });
    expect(validate(declared, { query: { c: "" } })).toMatchObject({ params: { c: text("") } });
    expect(validate(declared, {})).toEqual({ errors: ["c: Required field is missing"] });
  });

  test("a default stands in, also for a required field, and is validated", () => {
    const declared = [
      declare("n", { default: "5", required: true, validators: [{ ...int, min: "6" }] }),
      declare("e", { default: "" }),
    ];
    expect(validate(declared, {})).toEqual({ errors: ["n: Integer is less than the minimum allowed value"] });
    expect(validate(declared, { query: { n: "7" } })).toMatchObject({ params: { n: { value: 7n }, e: text("") } });
  });

  test("text that no database can hold is refused, validators or not", () => {
    const declared = [declare("a"), declare("b", { validators: [{ type: "string" }] })];
    expect(validate(declared, { query: { a: "x\ud800", b: "\udc00x" } })).toEqual({
      errors: ["a: Invalid string format", "b: Invalid string format"],
    });
    expect(validate(declared, { query: { a: "😀" } })).toMatchObject({ params: { a: text("😀") } });
  });

  test("injection is looked for where a validator wants it", () => {
    const declared = [
      declare("a", { validators: [{ type: "string" }] }),
      declare("b", { validators: [{ type: "string", preventSqlInjection: "false" }] }),
      declare("c"),
    ];
    const attack = "'; DROP TABLE users; --";
    expect(validate(declared, { query: { a: attack, b: attack, c: attack } })).toEqual({
      errors: ["a: Potential SQL injection detected"],
    });
    expect(validate(declared, { query: { a: "O'Brien" } })).toMatchObject({ params: { a: text("O'Brien") } });
  });
});

describe("locations", () => {
  test("each parameter is read from its own place", () => {
    const declared = [declare("a"), declare("b", { in: "body" }), declare("c", { in: "path" })];
    expect(validate(declared, { query: { a: "1", b: "2", c: "3" }, body: { a: "4" } })).toMatchObject({
      params: { a: text("1") },
    });
    expect(validate(declared, { body: { b: "2" }, path: { c: "3" } })).toMatchObject({
      params: { b: text("2"), c: text("3") },
    });
  });

  test.each(["x_user_region", "X-User-Region", "x-user-region", "X_User_Region"])("header %s", (name) => {
    const declared = [declare(name, { in: "header" })];
    expect(validate(declared, { header: { "x-user-region": "eu" } })).toMatchObject({ params: { [name]: text("eu") } });
  });

  test("an object or array is text for a body field and nothing for another", () => {
    const json = { kind: "json", text: '{"a": [1]}' } as const;
    const declared = [declare("a", { in: "body" }), declare("b"), declare("c", { in: "path" })];
    expect(validate(declared, { body: { a: json } })).toMatchObject({ params: { a: text('{"a": [1]}') } });
    expect(validate(declared, { query: { b: json }, path: { c: json } })).toEqual({
      errors: ["b: Invalid string format", "c: Invalid string format"],
    });
  });
});

describe("undeclared parameters", () => {
  const declared = [declare("a"), declare("b", { in: "body", required: true })];
  const sent = {
    query: { a: "1", x: "1", b: "1", limit: "5", offset: "5", format: "csv" },
    body: { a: "1", y: "1", limit: "1" },
  };

  test("are passed over", () => {
    expect(validate(declared, { ...sent, body: { ...sent.body, b: "2" } })).toEqual({
      params: { a: text("1"), b: text("2") },
      page: { limit: 5, offset: 5 },
    });
  });

  test("are refused last where the endpoint says so, one entry for each name", () => {
    const unknown = "Unknown parameter not defined in endpoint configuration";
    expect(validate(declared, { ...sent, header: { z: "1" }, path: { p: "1" } }, { rejectsUnknown: true })).toEqual({
      errors: ["b: Required field is missing", `x: ${unknown}`, `a: ${unknown}`, `y: ${unknown}`, `limit: ${unknown}`],
    });
  });
});

describe("limit and offset", () => {
  test.each<[Sent["query"], object]>([
    [{}, { limit: 100, offset: 0 }],
    [{ limit: "5" }, { limit: 5, offset: 0 }],
    [
      { limit: "0", offset: "007" },
      { limit: 0, offset: 7 },
    ],
    [
      { limit: "1000", offset: "9007199254740991" },
      { limit: 1000, offset: 9007199254740991 },
    ],
  ])("%j", (query, expected) => expect(validate([], { query: query ?? {} })).toMatchObject({ page: expected }));

  test.each([
    ["limit", "", "Invalid integer value"],
    ["limit", "abc", "Invalid integer value"],
    ["limit", "+5", "Invalid integer value"],
    ["limit", "-0", "Invalid integer value"],
    ["limit", " 5", "Invalid integer value"],
    ["limit", "5.0", "Invalid integer value"],
    ["limit", "1e2", "Invalid integer value"],
    ["limit", "99999999999999999999", "Invalid integer value"],
    ["limit", "-1", "Integer is less than the minimum allowed value"],
    ["limit", "1001", "Integer is greater than the maximum allowed value"],
    ["offset", "-5", "Integer is less than the minimum allowed value"],
    ["offset", "9007199254740992", "Integer is greater than the maximum allowed value"],
  ])("%s=%j: %s", (field, value, message) => {
    const errors = [`${field}: ${message}`];
    expect(validate([], { query: { [field]: value } })).toEqual({ errors });
    expect(validate([declare(field)], { query: { [field]: value } })).toEqual({ errors });
  });

  test("without pagination all rows, unless a limit is sent", () => {
    const rules = { page: { ...page, paginated: false } };
    expect(validate([], {}, rules)).toMatchObject({ page: { limit: undefined, offset: 0 } });
    expect(validate([], { query: { limit: "3", offset: "2" } }, rules)).toMatchObject({
      page: { limit: 3, offset: 2 },
    });
    expect(validate([], { query: { limit: "5000" } }, rules)).toHaveProperty("errors");
  });

  test("a declared limit keeps its validators, and its default is the page size", () => {
    const limit = declare("limit", { default: "20", validators: [{ ...int, max: "50" }] });
    expect(validate([limit], {})).toEqual({
      params: { limit: { text: "20", type: "BIGINT", value: 20n } },
      page: { limit: 20, offset: 0 },
    });
    expect(validate([limit], { query: { limit: "51" } })).toEqual({
      errors: ["limit: Integer is greater than the maximum allowed value"],
    });
    expect(validate([declare("limit", { validators: [int] })], { query: { limit: "+5" } })).toEqual({
      errors: ["limit: Invalid integer value"],
    });
  });

  test("one list: declared in order, then limit and offset, then unknown", () => {
    const declared = [declare("a", { validators: [int] }), declare("offset"), declare("z", { validators: [int] })];
    const query = { x: "1", limit: "-1", z: "z", offset: "-1", a: "a" };
    expect(validate(declared, { query }, { rejectsUnknown: true })).toEqual({
      errors: [
        "a: Invalid integer value",
        "offset: Integer is less than the minimum allowed value",
        "z: Invalid integer value",
        "limit: Integer is less than the minimum allowed value",
        "x: Unknown parameter not defined in endpoint configuration",
      ],
    });
  });

  test("for a write they are names like any other", () => {
    const limit = declare("limit", { in: "body" });
    const sent = { body: { limit: "2500.50" }, query: { offset: "x" } };
    expect(validate([limit], sent, { page: undefined })).toMatchObject({ params: { limit: text("2500.50") } });
  });
});

describe("a write that skips its validators", () => {
  const rules = { enforcedEnums: new Set(["b"]), page: undefined };

  test("binds what fits its type in it, and the rest as text", () => {
    const declared = [declare("a", { validators: [int] }), declare("b", { validators: [int] }), declare("c")];
    expect(validate(declared, { query: { a: "5", b: "x", c: "y" } }, rules)).toMatchObject({
      params: { a: { type: "BIGINT", value: 5n }, b: text("x"), c: text("y") },
    });
  });

  test("a fixed list that only ever is a value is skipped like any validator", () => {
    const declared = [declare("c", { validators: [{ type: "enum", allowedValues: ["x"] }] })];
    expect(validate(declared, { query: { c: "y" } }, rules)).toMatchObject({ params: { c: text("y") } });
  });

  test("still wants required fields, and keeps to fixed lists that become SQL", () => {
    const declared = [
      declare("a", { required: true }),
      declare("b", { validators: [{ type: "string" }, { type: "enum", allowedValues: ["x"] }] }),
    ];
    expect(validate(declared, { query: { b: "y; DROP TABLE z" } }, rules)).toEqual({
      errors: ["a: Required field is missing", "b: Invalid enum value"],
    });
    expect(validate(declared, { query: { a: "1", b: "x" } }, rules)).toMatchObject({ params: { b: text("x") } });
  });
});

test("names of Object.prototype are names", () => {
  const declared = [declare("constructor"), declare("__proto__", { in: "body" })];
  expect(validate(declared, {})).toEqual({ params: {}, page: { limit: 100, offset: 0 } });
});
