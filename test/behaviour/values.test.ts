import { describe, expect, test } from "vitest";
import { type Files, serviceFrom } from "../service.ts";
import { bodyFields, INT, mainFile, outcome, route, send } from "./write-project.ts";

const NUMBER = "validators: [{ type: number }]";
const BOOLEAN = "validators: [{ type: boolean }]";

/** A table of one column, a way to write it and a way to read it. */
function column(type: string, keys = ""): Files {
  return {
    ...mainFile(`CREATE TABLE t (v ${type});`),
    ...route("POST /t", "INSERT INTO t VALUES ({{params.v}})", bodyFields({ v: keys })),
    ...route("GET /t", "SELECT v, typeof(v) AS type FROM t"),
  };
}

describe("values of a body arrive as they were sent", () => {
  /** Type of the column, keys of the field, the value as JSON, and the value as JSON when it is read. */
  test.each([
    ["DECIMAL(10,2)", "", "29.99", "29.99"],
    ["DECIMAL(10,2)", NUMBER, "29.99", "29.99"],
    ["DOUBLE", NUMBER, "29.99", "29.99"],
    ["VARCHAR", "", "29.99", '"29.99"'],
    ["VARCHAR", "", "1.10", '"1.10"'],
    ["VARCHAR", "", "12345678901234567890", '"12345678901234567890"'],
    ["HUGEINT", "", "12345678901234567890", "12345678901234567890"],
    ["HUGEINT", NUMBER, "12345678901234567890", "12345678901234567890"],
    ["UBIGINT", NUMBER, "18446744073709551615", "18446744073709551615"],
    ["BIGINT", INT, "9223372036854775807", "9223372036854775807"],
    ["BIGINT", INT, "-9223372036854775808", "-9223372036854775808"],
    ["BIGINT", INT, '"42"', "42"],
    ["INTEGER", "", "42", "42"],
    ["DECIMAL(38,37)", NUMBER, "0.1234567890123456789012345678901234567", "0.1234567890123456789012345678901234567"],
    ["DOUBLE", NUMBER, "1e-300", "1e-300"],
    ["BOOLEAN", "", "true", "true"],
    ["BOOLEAN", BOOLEAN, "false", "false"],
    ["BOOLEAN", BOOLEAN, '"true"', "true"],
    ["VARCHAR", "", "true", '"true"'],
    ["INTEGER", INT, "null", "null"],
    ["VARCHAR", "", "null", "null"],
    ["VARCHAR", "", '"null"', '"null"'],
    ["VARCHAR", "", '""', '""'],
    ["VARCHAR", "default: 'none'", "null", '"none"'],
    ["VARCHAR", "", '"a\\"b\\\\c\\u0000d\\n🦆"', '"a\\"b\\\\c\\u0000d\\n🦆"'],
    ["DATE", "validators: [{ type: date }]", '"2024-02-29"', '"2024-02-29"'],
    ["DATE", "", '"2024-02-29"', '"2024-02-29"'],
    ["TIME", "validators: [{ type: time }]", '"12:30:00.5"', '"12:30:00.500000"'],
    ["TIMESTAMP", "", '"2024-02-29T12:30:00"', '"2024-02-29T12:30:00"'],
    ["TIMESTAMPTZ", "", '"2024-02-29T12:30:00Z"', '"2024-02-29T12:30:00Z"'],
    [
      "UUID",
      "validators: [{ type: uuid }]",
      '"6fa459ea-ee8a-3ca4-894e-db77e160355e"',
      '"6fa459ea-ee8a-3ca4-894e-db77e160355e"',
    ],
    ["VARCHAR", "", '{"a":[1,2.50,{"b":null}]}', '"{\\"a\\":[1,2.50,{\\"b\\":null}]}"'],
    ["VARCHAR", "", "[]", '"[]"'],
    [
      "JSON",
      "",
      '{"a":[1,2.50,{"b":null}],"n":12345678901234567890}',
      '{"a":[1,2.50,{"b":null}],"n":12345678901234567890}',
    ],
    ["JSON", "", '[{"a":"x\\"y"},true]', '[{"a":"x\\"y"},true]'],
    ["INTEGER[]", "", "[1,2,3]", "[1,2,3]"],
  ])("%s, %s: %s", async (type, keys, sent, read) => {
    await using service = await serviceFrom(column(type, keys));
    expect(await outcome(service, "POST /t", `{"v":${sent}}`)).toEqual([200, { rows_affected: 1 }]);
    const typeName = type.startsWith("TIMESTAMPTZ") ? "TIMESTAMP WITH TIME ZONE" : type;
    expect(await (await service.get("/t")).text()).toBe(`[{"v":${read},"type":"${typeName}"}]`);
  });

  test("quoted in the template, whole and in part, and a section for what is set", async () => {
    const sql =
      "INSERT INTO t VALUES ('{{{params.v}}}', '<{{{params.v}}}>', {{#params.n}}{{params.n}}{{/params.n}}{{^params.n}}-1{{/params.n}})";
    await using service = await serviceFrom({
      ...mainFile("CREATE TABLE t (a VARCHAR, b VARCHAR, n DECIMAL(10,2));"),
      ...route("POST /t", sql, bodyFields({ v: "", n: NUMBER })),
      ...route("GET /t", "SELECT * FROM t"),
    });
    const text = "O'Brien; DROP TABLE t; -- \\ $1 {{params.n}}";
    await send(service, "POST /t", { v: text, n: 29.99 });
    await send(service, "POST /t", { v: null, n: null });
    expect(await service.json("/t")).toEqual([
      { a: text, b: `<${text}>`, n: 29.99 },
      { a: "", b: "<>", n: -1 },
    ]);
  });

  test("several statements share them", async () => {
    const sql =
      "INSERT INTO a VALUES ({{params.id}}, '{{{params.name}}}'); INSERT INTO b SELECT {{params.id}}, '{{{params.name}}}', {{params.price}}; UPDATE a SET name = name || '{{{params.name}}}' WHERE id = {{params.id}}; SELECT a.id, a.name, b.price FROM a JOIN b USING (id) WHERE id = {{params.id}}";
    await using service = await serviceFrom({
      ...mainFile(
        "CREATE TABLE a (id INTEGER, name VARCHAR); CREATE TABLE b (id INTEGER, name VARCHAR, price DECIMAL(9,2));",
      ),
      ...route(
        "POST /ab",
        sql,
        `operation: { returns-data: true }\n${bodyFields({ id: INT, name: "", price: NUMBER })}`,
      ),
    });
    for (const id of [1, 2, 3]) {
      expect((await send(service, "POST /ab", `{"id":${id},"name":"n${id}","price":29.99}`)).text).toBe(
        `{"rows_affected":3,"data":[{"id":${id},"name":"n${id}n${id}","price":29.99}]}`,
      );
    }
  });

  test("path, query, header and body in one statement", async () => {
    const yaml =
      "request:\n  - { field-name: id, field-in: path }\n  - { field-name: q, field-in: query }\n  - { field-name: x_who, field-in: header }\n  - { field-name: b, field-in: body }\n";
    await using service = await serviceFrom({
      ...mainFile("CREATE TABLE t (id INTEGER, q VARCHAR, who VARCHAR, b VARCHAR);"),
      ...route(
        "PUT /t/:id",
        "INSERT INTO t VALUES ({{params.id}}, '{{{params.q}}}', '{{{params.x_who}}}', '{{{params.b}}}')",
        yaml,
      ),
      ...route("GET /t", "SELECT * FROM t"),
    });
    const sent = await outcome(service, "PUT /t/7?q=a%26b&b=query", { b: "body", q: "body", id: 9 }, { "X-Who": "me" });
    expect(sent).toEqual([200, { rows_affected: 1 }]);
    expect(await service.json("/t")).toEqual([{ id: 7, q: "a&b", who: "me", b: "body" }]);
  });
});

const ATTACK = "x'; DELETE FROM t; --";
const FIELDS = bodyFields({
  id: "required: true, validators: [{ type: int, min: 1 }]",
  kind: "validators: [{ type: enum, allowedValues: [a, b] }]",
  name: "validators: [{ type: string, max: 30 }]",
});
const INSERT = "INSERT INTO t VALUES ({{params.id}}, '{{{params.kind}}}', '{{{params.name}}}')";
const TABLE = mainFile("CREATE TABLE t (id VARCHAR, kind VARCHAR, name VARCHAR); CREATE SEQUENCE runs;");
const ROWS = route("GET /t", "SELECT * FROM t");

describe("validate-before-write: true", () => {
  // A sequence counts runs whatever becomes of them.
  const files = {
    ...TABLE,
    ...ROWS,
    ...route("GET /runs", "SELECT last_value AS n FROM duckdb_sequences()"),
    ...route("POST /t", `SELECT nextval('runs'); ${INSERT}`, `request-fields-validation: true\n${FIELDS}`),
  };

  test.each([
    [{}, [["id", "Required field is missing"]]],
    [{ id: null }, [["id", "Required field is missing"]]],
    [{ id: 0 }, [["id", "Integer is less than the minimum allowed value"]]],
    [{ id: 29.99 }, [["id", "Invalid integer value"]]],
    [{ id: "12345678901234567890" }, [["id", "Invalid integer value"]]],
    [{ id: 1, kind: "c" }, [["kind", "Invalid enum value"]]],
    [{ id: 1, name: "x".repeat(31) }, [["name", "String is longer than the maximum allowed length"]]],
    [{ id: 1, name: ATTACK }, [["name", "Potential SQL injection detected"]]],
    [{ id: 1, other: 1 }, [["other", "Unknown parameter not defined in endpoint configuration"]]],
    [
      { other: 1, name: ATTACK, kind: "c", id: "x" },
      [
        ["id", "Invalid integer value"],
        ["kind", "Invalid enum value"],
        ["name", "Potential SQL injection detected"],
        ["other", "Unknown parameter not defined in endpoint configuration"],
      ],
    ],
  ])("%j: nothing is run", async (body, errors) => {
    await using service = await serviceFrom(files);
    expect(await outcome(service, "POST /t", body)).toEqual([
      400,
      { errors: errors.map(([field, message]) => ({ field, message })) },
    ]);
    expect(await service.json("/t")).toEqual([]);
    expect(await service.json("/runs")).toEqual([{ n: null }]);
    expect(await outcome(service, "POST /t", { id: 1, kind: "a", name: "O'Brien" })).toEqual([
      200,
      { rows_affected: 1 },
    ]);
    expect(await service.json("/t")).toEqual([{ id: "1", kind: "a", name: "O'Brien" }]);
    expect(await service.json("/runs")).toEqual([{ n: 1 }]);
  });
});

describe("validate-before-write: false", () => {
  const NOT = "operation: { validate-before-write: false }\n";

  test("an enum is skipped where it is a value, and holds where it becomes SQL", async () => {
    const list = bodyFields({
      name: "validators: [{ type: enum, allowedValues: [a, b] }]",
      table: "required: true, validators: [{ type: enum, allowedValues: [named, other] }]",
    });
    await using service = await serviceFrom({
      ...mainFile("CREATE TABLE named (name VARCHAR); CREATE TABLE other (name VARCHAR)"),
      ...route("POST /add", `INSERT INTO {{{params.table}}} VALUES ('{{{params.name}}}')`, `${NOT}${list}`),
      ...route("GET /all", "SELECT name FROM named"),
    });
    expect(await outcome(service, "POST /add", { table: "named", name: "x'); DROP TABLE named; --" })).toEqual([
      200,
      { rows_affected: 1 },
    ]);
    expect(await outcome(service, "POST /add", { table: "named VALUES ('y'); --", name: "a" })).toEqual([
      400,
      { errors: [{ field: "table", message: "Invalid enum value" }] },
    ]);
    expect(await service.json("/all")).toEqual([{ name: "x'); DROP TABLE named; --" }]);
  });

  test("validators are skipped, values are bound", async () => {
    await using service = await serviceFrom({ ...TABLE, ...ROWS, ...route("POST /t", INSERT, NOT + FIELDS) });
    for (const body of [
      { id: 0, kind: "a", name: "x".repeat(31) },
      { id: ATTACK, kind: "b", name: ATTACK },
    ]) {
      expect(await outcome(service, "POST /t", body)).toEqual([200, { rows_affected: 1 }]);
    }
    expect(await service.json("/t")).toEqual([
      { id: "0", kind: "a", name: "x".repeat(31) },
      { id: ATTACK, kind: "b", name: ATTACK },
    ]);
  });

  test("what is required stays so", async () => {
    await using service = await serviceFrom({ ...TABLE, ...ROWS, ...route("POST /t", INSERT, NOT + FIELDS) });
    expect(await outcome(service, "POST /t", { kind: "c" })).toEqual([
      400,
      { errors: [{ field: "id", message: "Required field is missing" }] },
    ]);
    expect(await service.json("/t")).toEqual([]);
  });

  test("what the database cannot take is its error, and nothing is written", async () => {
    await using service = await serviceFrom({
      ...mainFile("CREATE TABLE t (id INTEGER);"),
      ...ROWS,
      ...route(
        "POST /t",
        "INSERT INTO t VALUES (1); INSERT INTO t VALUES ({{params.id}})",
        NOT + bodyFields({ id: INT }),
      ),
    });
    expect(await outcome(service, "POST /t", { id: "abc" })).toEqual([
      500,
      { error: expect.stringMatching(/^Internal Server Error: Conversion Error: .*'abc'/) },
    ]);
    expect(await service.json("/t")).toEqual([]);
    expect(await outcome(service, "POST /t", { id: "42" })).toEqual([200, { rows_affected: 2 }]);
  });

  test.each([
    [
      "a table",
      "t",
      "INSERT INTO {{{params.at}}} VALUES ('1', 'a', 'b')",
      "t VALUES ('9', 'x', 'y'); DELETE FROM t; --",
    ],
    ["an order", "2", "INSERT INTO t SELECT '1', 'a', 'b' ORDER BY {{{params.at}}}", "1; DELETE FROM t; --"],
    ["a name", "t", "INSERT INTO \"{{{params.at}}}\" VALUES ('1', 'a', 'b')", 't" VALUES (0, 0, 0); DELETE FROM "t'],
  ])("an enum that is written into the SQL is one of its list: %s", async (_, allowed, sql, attack) => {
    const field = bodyFields({ at: `required: true, validators: [{ type: enum, allowedValues: ["${allowed}"] }]` });
    await using service = await serviceFrom({ ...TABLE, ...ROWS, ...route("POST /t", sql, NOT + field) });
    expect(await outcome(service, "POST /t", { at: allowed })).toEqual([200, { rows_affected: 1 }]);
    expect(await outcome(service, "POST /t", { at: attack })).toEqual([
      400,
      { errors: [{ field: "at", message: "Invalid enum value" }] },
    ]);
    expect(await service.json("/t")).toEqual([{ id: "1", kind: "a", name: "b" }]);
  });
});
