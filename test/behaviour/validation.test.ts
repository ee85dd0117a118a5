import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cpuMs } from "../cpu-time.ts";
import { serviceFrom, type TestService } from "../service.ts";

const OK = undefined;
const INJECTION = "Potential SQL injection detected";

/** Fields by name: the YAML of their one validator. */
const FIELDS = {
  int: "{ type: int }",
  int_range: "{ type: int, min: -5, max: 10 }",
  string: "{ type: string }",
  string_length: "{ type: string, min: 2, max: 4 }",
  string_alias: "{ type: string, min-length: 2, max-length: 4 }",
  string_regex: '{ type: string, regex: "[a-z]+[0-9]?" }',
  string_anchored: '{ type: string, regex: "^[a-z]+$" }',
  string_slow: '{ type: string, regex: "(a+)+$" }',
  string_sql: "{ type: string, preventSqlInjection: false }",
  enum: "{ type: enum, allowedValues: [red, Blue, 1.10, '', \"it's\"] }",
  email: "{ type: email }",
  uuid: "{ type: uuid }",
  date: "{ type: date }",
  date_range: "{ type: date, min: 2024-02-01, max: 2024-02-29 }",
  time: "{ type: time }",
  time_range: '{ type: time, min: "08:00:00", max: "17:30:00" }',
  number: "{ type: number }",
  number_range: "{ type: number, min: -1.5, max: 2.25 }",
  boolean: "{ type: boolean }",
} as const;
type Field = keyof typeof FIELDS;

let service: TestService;

beforeAll(async () => {
  const read = "connection: memory\nwith-pagination: false\nmethod: POST\noperation: { type: Read }\n";
  const files: Record<string, string> = {};
  for (const [field, validator] of Object.entries(FIELDS)) {
    const path = field.replaceAll("_", "-");
    files[`${path}.yaml`] =
      `url-path: /${path}\ntemplate-source: ${field}.sql\n${read}request:\n  - { field-name: ${field}, field-in: body, validators: [${validator}] }\n  - { field-name: q_${field}, field-in: query, validators: [${validator}] }\n`;
    files[`${field}.sql`] =
      `SELECT '{{{params.${field}}}}{{{params.q_${field}}}}' AS text, typeof(coalesce({{params.${field}}}, {{params.q_${field}}})) AS type`.replace(
        // An enum stands in the SQL as its author wrote it, so it has no type of its own.
        /, typeof.*$/,
        (types) => (field === "enum" ? "" : types),
      );
  }
  service = await serviceFrom({
    ...files,
    "several.yaml": `url-path: /several\ntemplate-source: several.sql\n${read}request:\n  - field-name: code\n    field-in: query\n    validators:\n      - { type: string, min: 3 }\n      - { type: string, max: 5 }\n      - { type: string, regex: "[a-z']*" }\n`,
    "several.sql": "SELECT {{params.code}} AS code",
    "plain.yaml": `url-path: /plain\ntemplate-source: plain.sql\n${read}request:\n  - { field-name: text, field-in: query }\n`,
    "plain.sql": "SELECT {{params.text}} AS text",
  });
});
afterAll(() => service?.[Symbol.asyncDispose]());

/** The message for a value in the body, and for the same in the query; undefined when it is taken as it is. */
async function messageFor(field: Field, value: string): Promise<string | undefined> {
  const path = `/${field.replaceAll("_", "-")}`;
  const body = await service.request(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ [field]: value }),
  });
  const inBody = await outcome(body, field, value);
  // A header block has room for 16 KiB.
  if (value.length < 2_000) {
    const query = await service.request(`${path}?q_${field}=${encodeURIComponent(value)}`, { method: "POST" });
    expect(await outcome(query, `q_${field}`, value)).toBe(inBody);
  }
  return inBody;
}

async function outcome(answer: Response, field: string, value: string): Promise<string | undefined> {
  const json = await answer.json();
  if (answer.status === 200) {
    expect(json).toMatchObject([{ text: value }]);
    return undefined;
  }
  expect(answer.status).toBe(400);
  const message = (json as { errors: { message: string }[] }).errors[0]?.message;
  expect(json).toEqual({ errors: [{ field, message }] });
  return message;
}

const NOT_INT = "Invalid integer value";
const NOT_DATE = "Invalid date format";
const NOT_TIME = "Invalid time format";
const NOT_EMAIL = "Invalid email format";
const NOT_UUID = "Invalid UUID format";
const NOT_NUMBER = "Invalid number value";
const NOT_BOOLEAN = "Invalid boolean value";
const NOT_LISTED = "Invalid enum value";
const NO_MATCH = "Invalid string format";
const TOO_SHORT = "String is shorter than the minimum allowed length";
const TOO_LONG = "String is longer than the maximum allowed length";

test.each<[Field, string, string | undefined]>([
  ["int", "42", OK],
  ["int", "-42", OK],
  ["int", "+42", OK],
  ["int", "007", OK],
  ["int", "9223372036854775807", OK],
  ["int", "-9223372036854775808", OK],
  ["int", "9223372036854775808", NOT_INT],
  ["int", "-9223372036854775809", NOT_INT],
  ["int", "1".repeat(1_000), NOT_INT],
  ["int", "4.2", NOT_INT],
  ["int", "1e3", NOT_INT],
  ["int", "0x10", NOT_INT],
  ["int", " 1", NOT_INT],
  ["int", "1\n", NOT_INT],
  ["int", "", NOT_INT],
  ["int", "-", NOT_INT],
  ["int", "١", NOT_INT],
  ["int", "1; DROP TABLE x", NOT_INT],
  ["int_range", "-5", OK],
  ["int_range", "10", OK],
  ["int_range", "-6", "Integer is less than the minimum allowed value"],
  ["int_range", "11", "Integer is greater than the maximum allowed value"],

  ["string", "", OK],
  ["string", "anything at all, ünïcödé 😀", OK],
  ["string", "tab\tand\nlines", OK],
  ["string_length", "ab", OK],
  ["string_length", "abcd", OK],
  ["string_length", "😀😀", OK],
  ["string_length", "😀😀😀😀", OK],
  ["string_length", "", TOO_SHORT],
  ["string_length", "a", TOO_SHORT],
  ["string_length", "😀", TOO_SHORT],
  ["string_length", "abcde", TOO_LONG],
  ["string_length", "😀😀😀😀😀", TOO_LONG],
  ["string_alias", "a", TOO_SHORT],
  ["string_alias", "abcde", TOO_LONG],
  ["string_regex", "abc", OK],
  ["string_regex", "abc1", OK],
  ["string_regex", "abc12", NO_MATCH],
  ["string_regex", "1abc", NO_MATCH],
  ["string_regex", "abc\n", NO_MATCH],
  ["string_regex", "", NO_MATCH],
  ["string_anchored", "abc", OK],
  ["string_anchored", "abc\n", NO_MATCH],
  ["string_anchored", "ABC", NO_MATCH],

  ["enum", "red", OK],
  ["enum", "Blue", OK],
  ["enum", "1.10", OK],
  ["enum", "", OK],
  ["enum", "it's", OK],
  ["enum", "blue", NOT_LISTED],
  ["enum", "1.1", NOT_LISTED],
  ["enum", "red ", NOT_LISTED],
  ["enum", "' OR 1=1 --", NOT_LISTED],

  ["email", "ann@example.com", OK],
  ["email", "o'brien+tag@mail.example.co.uk", OK],
  ["email", "ann", NOT_EMAIL],
  ["email", "ann@", NOT_EMAIL],
  ["email", "@example.com", NOT_EMAIL],
  ["email", "ann@example", NOT_EMAIL],
  ["email", "a@b@example.com", NOT_EMAIL],
  ["email", "ann@example.com ", NOT_EMAIL],
  ["email", "ann..b@example.com", NOT_EMAIL],
  ["email", "", NOT_EMAIL],

  ["uuid", "550e8400-e29b-41d4-a716-446655440000", OK],
  ["uuid", "550E8400-E29B-41D4-A716-446655440000", OK],
  ["uuid", "00000000-0000-0000-0000-000000000000", OK],
  ["uuid", "550e8400e29b41d4a716446655440000", NOT_UUID],
  ["uuid", "{550e8400-e29b-41d4-a716-446655440000}", NOT_UUID],
  ["uuid", "550e8400-e29b-41d4-a716-44665544000g", NOT_UUID],
  ["uuid", "", NOT_UUID],

  ["date", "2024-02-29", OK],
  ["date", "0001-01-01", OK],
  ["date", "9999-12-31", OK],
  ["date", "2023-02-29", NOT_DATE],
  ["date", "2024-13-01", NOT_DATE],
  ["date", "2024-00-10", NOT_DATE],
  ["date", "2024-04-31", NOT_DATE],
  ["date", "2024-1-1", NOT_DATE],
  ["date", "01/02/2024", NOT_DATE],
  ["date", "2024-01-01T00:00:00", NOT_DATE],
  ["date", "2024-01-01 ", NOT_DATE],
  ["date", "", NOT_DATE],
  ["date_range", "2024-02-01", OK],
  ["date_range", "2024-02-29", OK],
  ["date_range", "2024-01-31", "Date is before the minimum allowed date"],
  ["date_range", "2024-03-01", "Date is after the maximum allowed date"],

  ["time", "00:00:00", OK],
  ["time", "23:59:59", OK],
  ["time", "12:34:56.789", OK],
  ["time", "24:00:00", NOT_TIME],
  ["time", "12:60:00", NOT_TIME],
  ["time", "12:00:60", NOT_TIME],
  ["time", "12:00", NOT_TIME],
  ["time", "1:00:00", NOT_TIME],
  ["time", "12:00:00Z", NOT_TIME],
  ["time", "12:00:00.", NOT_TIME],
  ["time", "", NOT_TIME],
  ["time_range", "08:00:00", OK],
  ["time_range", "17:30:00", OK],
  ["time_range", "07:59:59.999", "Time is before the minimum allowed time"],
  ["time_range", "17:30:00.001", "Time is after the maximum allowed time"],

  ["number", "1", OK],
  ["number", "-1.50", OK],
  ["number", "1e-3", OK],
  ["number", "12345678901234567890.123456789", OK],
  ["number", "NaN", NOT_NUMBER],
  ["number", "Infinity", NOT_NUMBER],
  ["number", "1e999", NOT_NUMBER],
  ["number", "1,5", NOT_NUMBER],
  ["number", "0x1", NOT_NUMBER],
  ["number", "", NOT_NUMBER],
  ["number_range", "-1.5", OK],
  ["number_range", "2.25", OK],
  ["number_range", "-1.50000000000000000000001", "Number is less than the minimum allowed value"],
  ["number_range", "2.26", "Number is greater than the maximum allowed value"],

  ["boolean", "true", OK],
  ["boolean", "false", OK],
  ["boolean", "TRUE", OK],
  ["boolean", "1", NOT_BOOLEAN],
  ["boolean", "yes", NOT_BOOLEAN],
  ["boolean", "", NOT_BOOLEAN],
])("%s: %j gives %j", async (field, value, message) => {
  expect(await messageFor(field, value)).toBe(message);
});

test.each<[Field, string, string]>([
  ["int", "1", "BIGINT"],
  ["string", "1", "VARCHAR"],
  ["email", "a@example.com", "VARCHAR"],
  ["uuid", "550e8400-e29b-41d4-a716-446655440000", "VARCHAR"],
  ["date", "2024-01-01", "DATE"],
  ["time", "12:00:00", "TIME"],
  ["number", "1.5", "DECIMAL(2,1)"],
  ["number", "1e5", "DOUBLE"],
  ["boolean", "true", "BOOLEAN"],
])("a bare %s %s reaches the database as %s", async (field, value, type) => {
  const answer = await service.request(`/${field}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ [field]: value }),
  });
  expect(await answer.json()).toEqual([{ text: value, type }]);
});

test.each([
  ['{"int":42}', "42"],
  ['{"int":"42"}', "42"],
])("a number may come as a number or as text: %s", async (body, text) => {
  const headers = { "content-type": "application/json" };
  const answer = await service.request("/int", { method: "POST", headers, body });
  expect(await answer.json()).toMatchObject([{ text }]);
});

test.each(['{"int":4.0}', '{"int":1e2}', '{"int":true}', '{"int":[1]}', '{"int":{}}'])(
  "%s is no integer",
  async (body) => {
    const headers = { "content-type": "application/json" };
    const answer = await service.request("/int", { method: "POST", headers, body });
    expect(await answer.json()).toEqual({ errors: [{ field: "int", message: NOT_INT }] });
  },
);

test.each([
  ["ab", TOO_SHORT],
  ["abcdef", TOO_LONG],
  ["ABC", NO_MATCH],
  ["'--", INJECTION],
  ["abc", OK],
])("several validators: the first that fails answers for %j", async (value, message) => {
  const answer = await service.request(`/several?code=${encodeURIComponent(value)}`, { method: "POST" });
  if (message === undefined) expect(await answer.json()).toEqual([{ code: value }]);
  else expect(await answer.json()).toEqual({ errors: [{ field: "code", message }] });
});

describe("a pattern that ruins other engines answers at once", () => {
  test.each([
    ["that does not match", `${"a".repeat(50_000)}!`, NO_MATCH],
    ["that matches", "a".repeat(50_000), OK],
  ])("(a+)+$ against 50,000 characters %s", async (_, value, message) => {
    const ms = await cpuMs(async () => expect(await messageFor("string_slow", value)).toBe(message));
    expect(ms).toBeLessThan(2_000);
  });

  test("nor does a large value of any type keep others waiting", async () => {
    for (const field of Object.keys(FIELDS) as Field[]) {
      for (const unit of ["1", "'", "a", "-", "aA@", " or 1=1 "]) {
        const ms = await cpuMs(() => messageFor(field, unit.repeat(Math.floor(100_000 / unit.length))));
        expect(ms, `${field} of ${unit}`).toBeLessThan(2_000);
      }
    }
  });
});

describe("the injection scan", () => {
  test.each([
    "O'Brien",
    "Table Mountain",
    "cast iron",
    "latitude=1.111",
    "Select Comfort",
    "drop-in",
    "wait -- what?",
    "--",
    "Levi's 501 or 505",
    "rock 'n' roll; drop by",
    "European Union: select a member",
    "5' 6\" and 6' 2\"",
    "1=1",
    "update your profile",
    "don't or won't = shan't",
    "C:\\Program Files; D:\\",
    "100% /* really */ free",
    '{"name": "O\'Brien"}',
  ])("lets %j through, and the database sees it as it is", async (value) => {
    expect(await messageFor("string", value)).toBe(OK);
  });

  test.each([
    "' OR '1'='1",
    "' or 1=1--",
    '" OR "1"="1',
    "') OR ('1'='1",
    "1' and '1'='1",
    "'; DROP TABLE users; --",
    "Robert'); DROP TABLE students;--",
    "1; DELETE FROM users",
    "x UNION SELECT password FROM users",
    "x UNION ALL SELECT NULL",
    "x union/**/select 1",
    "admin'--",
    "admin' /*",
    "1 OR 1=1",
  ])("refuses %j, unless it was switched off", async (value) => {
    expect(await messageFor("string", value)).toBe(INJECTION);
    // A second line of defence only: the value is one, whatever it holds.
    expect(await messageFor("string_sql", value)).toBe(OK);
    const plain = await service.request(`/plain?text=${encodeURIComponent(value)}`, { method: "POST" });
    expect(await plain.json()).toEqual([{ text: value }]);
  });
});
