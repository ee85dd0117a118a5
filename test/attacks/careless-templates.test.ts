import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endpoint, type Files, problemsFrom, serviceFrom } from "../service.ts";

const SECRET = "content-of-the-secret";
let folder: string;

/** A file and an attached database that no client may choose. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "eider-careless-"));
  await writeFile(join(folder, "secret.txt"), SECRET);
  const instance = await DuckDBInstance.create(join(folder, "other.duckdb"));
  const connection = await instance.connect();
  await connection.run(`
    CREATE TABLE secrets AS SELECT '${SECRET}' AS content;
    CREATE TABLE "open" AS SELECT 'harmless' AS content;
    CREATE MACRO lookup(name) AS TABLE FROM query_table(name);
    CREATE MACRO shout(x) AS upper(x) || '!';`);
  connection.closeSync();
  instance.closeSync();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const TEXT =
  "with-pagination: false\nrequest: [{ field-name: v, field-in: query, validators: [{ type: string, preventSqlInjection: false }] }]\n";
const ENUM =
  "with-pagination: false\nrequest: [{ field-name: v, field-in: query, validators: [{ type: enum, allowedValues: [open] }] }]\n";

const INIT = `
CREATE TABLE secrets AS SELECT '${SECRET}' AS content;
CREATE TABLE "open" AS SELECT 'harmless' AS content;
CREATE SEQUENCE open_seq;
CREATE MACRO run(q) AS TABLE SELECT * FROM query(q);
CREATE MACRO run_where(w) AS TABLE SELECT * FROM query('SELECT * FROM "open" WHERE content = ' || w);
CREATE MACRO run_quoted(w) AS TABLE SELECT * FROM query('SELECT * FROM "open" WHERE content = ' || sql_literal(w));
CREATE MACRO load_text(p) AS TABLE SELECT content FROM read_text(p);
CREATE MACRO outer_load(p) AS TABLE SELECT * FROM load_text('' || p);
CREATE MACRO table_of(t) AS TABLE FROM query_table(t);
CREATE MACRO filtered(c) AS TABLE SELECT * FROM (SELECT * FROM query_table('open')) WHERE content = c;
CREATE MACRO lower(x) AS nextval(x)::VARCHAR;
SET VARIABLE f = 'FOLDER/secret.txt';
CREATE VIEW chosen AS SELECT content FROM read_text(getvariable('f'));
CREATE VIEW twice AS SELECT * FROM chosen;
CREATE MACRO from_variable() AS TABLE SELECT content FROM read_text(getvariable('f'));`;

function project(sql: string, yaml: string): Files {
  const init = `${INIT.replaceAll("FOLDER", folder)}\nATTACH '${join(folder, "other.duckdb")}' AS other (READ_ONLY);`;
  return {
    "eider.yaml": `connections:\n  memory:\n    init: |\n${init.replace(/^/gm, "      ")}\n`,
    ...endpoint(sql.replaceAll("FOLDER", folder), yaml),
  };
}

/** The template, and a value with which a client would get what is not for it. */
const careless: readonly (readonly [sql: string, attack: string])[] = [
  ["SELECT * FROM run('{{{params.v}}}')", "FROM secrets"],
  ["SELECT * FROM run({{params.v}})", "FROM secrets"],
  ["SELECT * FROM run_where('{{{params.v}}}')", "'' UNION ALL FROM secrets"],
  ["SELECT * FROM load_text('{{{params.v}}}')", "FOLDER/secret.txt"],
  ["SELECT * FROM outer_load('{{{params.v}}}')", "FOLDER/secret.txt"],
  ["SELECT * FROM memory.main.load_text('{{{params.v}}}')", "FOLDER/secret.txt"],
  ["SELECT * FROM \"load_text\"('{{{params.v}}}')", "FOLDER/secret.txt"],
  ["SELECT * FROM load_text(concat('', {{params.v}}))", "FOLDER/secret.txt"],
  ["SELECT * FROM table_of('{{{params.v}}}')", "secrets"],
  ["SELECT * FROM other.lookup('{{{params.v}}}')", "other.secrets"],
  ["SELECT lower('{{{params.v}}}') AS content", "open_seq"],
  ["SELECT * FROM query_table('{{{params.v}}}')", "secrets"],
  ["SELECT * FROM query_table(['open', '{{{params.v}}}'])", "secrets"],
  ["SELECT * FROM query('FROM ' || '{{{params.v}}}')", "secrets"],
  ["SELECT * FROM histogram('{{{params.v}}}', content)", "secrets"],
  ["SELECT * FROM pragma_table_info('{{{params.v}}}')", "secrets"],
  ["SELECT COLUMNS('{{{params.v}}}') FROM secrets", "content"],
  ["SELECT current_setting('{{{params.v}}}') AS content", "temp_directory"],
  ["SELECT nextval('{{{params.v}}}') AS content", "open_seq"],
  ["CALL read_text('{{{params.v}}}')", "FOLDER/secret.txt"],
  [
    "CREATE TEMP MACRO mine(p) AS TABLE SELECT content FROM read_text(p); SELECT * FROM mine('{{{params.v}}}')",
    "FOLDER/secret.txt",
  ],
  [
    "CREATE OR REPLACE TEMPORARY FUNCTION mine(a, p := 'x') AS TABLE SELECT content FROM read_text(p); SELECT * FROM mine(1, p := '{{{params.v}}}')",
    "FOLDER/secret.txt",
  ],
  ["SET VARIABLE f = '{{{params.v}}}'; SELECT content FROM read_text(getvariable('f'))", "FOLDER/secret.txt"],
  ["SET VARIABLE f = {{params.v}}; SELECT content FROM read_text('' || getvariable('F'))", "FOLDER/secret.txt"],
  ["SET VARIABLE \"f\" = {{params.v}}; SELECT content FROM read_text(getvariable('f'))", "FOLDER/secret.txt"],
  ["SET VARIABLE f = {{params.v}}; SELECT content FROM read_text(getvariable('' || 'f'))", "FOLDER/secret.txt"],
  [
    "SET VARIABLE a = {{params.v}}; SET VARIABLE f = getvariable('a'); SELECT content FROM read_text(getvariable('f'))",
    "FOLDER/secret.txt",
  ],
  [
    "CREATE TEMP TABLE kept AS SELECT '{{{params.v}}}' AS x; SET VARIABLE f = (SELECT x FROM kept); SELECT content FROM read_text(getvariable('f'))",
    "FOLDER/secret.txt",
  ],
  ["SET VARIABLE f = '{{{params.v}}}'; SELECT * FROM query(getvariable('f'))", "FROM secrets"],
  ["SET VARIABLE f = '{{{params.v}}}'; SELECT * FROM query_table(getvariable('f'))", "secrets"],
  ["SET VARIABLE f = '{{{params.v}}}'; SELECT COLUMNS(getvariable('f')) FROM secrets", "content"],
  ["SET VARIABLE f = '{{{params.v}}}'; SELECT * FROM chosen", "FOLDER/secret.txt"],
  ["SET VARIABLE f = '{{{params.v}}}'; SELECT * FROM twice", "FOLDER/secret.txt"],
  ["SET VARIABLE f = '{{{params.v}}}'; SELECT * FROM from_variable()", "FOLDER/secret.txt"],
];

describe("a template that would let a client choose SQL, a table or a file does not load", () => {
  test.each(careless)("%s", async (sql) => {
    const problems = await problemsFrom(project(sql, TEXT));
    expect(problems).toEqual([
      expect.stringMatching(
        /^x\.sql:1:\d+: .*(?:would choose|would become part of the SQL|would reach|would set).*; (?:give the parameter an enum|wrap it)/,
      ),
    ]);
  });
});

describe("the same with an enum, or with a value that stays a value, loads and answers", () => {
  test.each([
    ["SELECT * FROM table_of('{{{params.v}}}')", ENUM, "open", [{ content: "harmless" }]],
    ["SELECT * FROM query_table('{{{params.v}}}')", ENUM, "open", [{ content: "harmless" }]],
    ["SELECT * FROM query('FROM ' || '\"{{{params.v}}}\"')", ENUM, "open", [{ content: "harmless" }]],
    [
      "SET VARIABLE f = '{{{params.v}}}'; SELECT * FROM query_table(getvariable('f'))",
      ENUM,
      "open",
      [{ content: "harmless" }],
    ],
    ["SELECT * FROM filtered('{{{params.v}}}')", TEXT, "harmless", [{ content: "harmless" }]],
    ["SELECT * FROM filtered('{{{params.v}}}')", TEXT, "' OR 1=1 --", []],
    ["SELECT * FROM run_quoted('{{{params.v}}}')", TEXT, "harmless", [{ content: "harmless" }]],
    ["SELECT * FROM run_quoted('{{{params.v}}}')", TEXT, "' UNION ALL FROM secrets --", []],
    ["SELECT other.shout('{{{params.v}}}') AS content", TEXT, "o'brien", [{ content: "O'BRIEN!" }]],
    ["SET VARIABLE f = '{{{params.v}}}'; SELECT upper(getvariable('f')) AS content", TEXT, "a", [{ content: "A" }]],
    [
      "SET VARIABLE f = 'FOLDER/secret.txt'; SELECT length(content) AS n FROM read_text(getvariable('f')) WHERE '{{{params.v}}}' = 'a'",
      TEXT,
      "a",
      [{ n: SECRET.length }],
    ],
    [
      "SET VARIABLE f = (SELECT 'FOLDER/secret.txt'); SELECT length(content) AS n FROM read_text(getvariable('f')) WHERE '{{{params.v}}}' = 'a'",
      TEXT,
      "a",
      [{ n: SECRET.length }],
    ],
    [
      "CREATE TEMP MACRO twice_of(x) AS x || x; SELECT twice_of('{{{params.v}}}') AS content",
      TEXT,
      "ab",
      [{ content: "abab" }],
    ],
    [
      "SELECT unnest(string_split('{{{params.v}}}', ',')) AS content",
      TEXT,
      "a,b",
      [{ content: "a" }, { content: "b" }],
    ],
    ["SELECT value AS content FROM json_each('{{{params.v}}}')", TEXT, '{"a": 1}', [{ content: 1 }]],
  ])("%s with %s", async (sql, yaml, value, expected) => {
    await using service = await serviceFrom(project(sql, yaml));
    const response = await service.get(`/x?v=${encodeURIComponent(value)}`);
    expect({ status: response.status, body: await response.json() }).toEqual({ status: 200, body: expected });
  });
});

test("a macro over SQL refuses text that would end its literal", async () => {
  const sql = "SELECT * FROM run('SELECT content FROM \"open\" WHERE content = ''{{{params.v}}}''')";
  expect(await problemsFrom(project(sql, TEXT))).toEqual([
    expect.stringMatching(/^x\.sql:1:19: warning: a client value becomes part of the SQL that run runs/),
  ]);
  await using service = await serviceFrom(project(sql, TEXT));
  expect(await service.json("/x?v=harmless")).toEqual([{ content: "harmless" }]);
  const attack = await service.get(`/x?v=${encodeURIComponent("' UNION ALL FROM secrets --")}`);
  expect(attack.status).toBe(400);
  expect(await attack.json()).toEqual({ errors: [{ field: "v", message: "Potential SQL injection detected" }] });
});
