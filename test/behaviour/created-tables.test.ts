import { describe, expect, test } from "vitest";
import { type Files, problemsFrom } from "../service.ts";

describe("tables that are created later", () => {
  const main = "connections: { memory: {} }\n";
  const reads = (sql: string): Files => ({
    "x.yaml": "url-path: /x\ntemplate-source: x.sql\nconnection: memory\n",
    "x.sql": sql,
  });
  const creates = (sql: string): Files => ({
    "make.yaml": "url-path: /make\nmethod: POST\ntemplate-source: make.sql\nconnection: memory\n",
    "make.sql": sql,
  });

  test.each([
    ["a table", "CREATE TABLE notes (a INTEGER)", "SELECT a FROM notes"],
    [
      "another case and schema",
      'CREATE OR REPLACE TABLE memory.main."Notes" AS SELECT 1 AS a',
      "SELECT a FROM main.NOTES",
    ],
    ["a view", "CREATE VIEW IF NOT EXISTS notes AS SELECT 1 AS a", "SELECT a FROM notes"],
    ["a macro", "CREATE MACRO twice(x) AS 2 * x", "SELECT twice(2)"],
    ["a sequence", "CREATE SEQUENCE numbers", "SELECT nextval('numbers')"],
    ["a type", "CREATE TYPE mood AS ENUM ('good')", "SELECT 'good'::mood"],
    [
      "after another statement",
      "CREATE TABLE notes (a INTEGER)",
      "CREATE TEMP TABLE t AS SELECT 1 AS b; SELECT * FROM notes, t",
    ],
  ])("%s is no problem at load", async (_, made, sql) => {
    expect(await problemsFrom({ "eider.yaml": main, ...creates(made), ...reads(sql) })).toEqual([]);
  });

  test.each([
    [
      "no template creates it",
      "CREATE TABLE notes (a INTEGER)",
      "SELECT a FROM node",
      /Table with name node does not exist/,
    ],
    [
      "it is temporary there",
      "CREATE TEMP TABLE notes AS SELECT 1; INSERT INTO notes SELECT 2",
      "SELECT * FROM notes",
      /notes does not exist/,
    ],
    ["the SQL is wrong beside it", "CREATE TABLE notes (a INTEGER)", "SELECT a FROM notes; SELEC 1", /syntax error/],
  ])("a problem remains if %s", async (_, made, sql, message) => {
    expect(await problemsFrom({ "eider.yaml": main, ...creates(made), ...reads(sql) })).toEqual([
      expect.stringMatching(message),
    ]);
  });

  test("a table of an init that fails is not missing either", async () => {
    const broken =
      "connections:\n  memory: {}\n  far:\n    init: |\n      CREATE TABLE notes AS SELECT * FROM nowhere_at_all;\n";
    const problems = await problemsFrom({ "eider.yaml": broken, ...reads("SELECT * FROM notes") });
    expect(problems.filter((problem) => problem.startsWith("x.sql"))).toEqual([]);
  });
});
