import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { describe, expect, test } from "vitest";
import { folderWith } from "../process/program.ts";
import { type Files, problemsFrom, serviceFrom } from "../service.ts";
import { bodyFields, INT, outcome, route } from "./write-project.ts";

const FIELD = bodyFields({ id: INT });

/** A database file of its own, by the work of somebody else. */
async function inFile(file: string, sql: string): Promise<unknown[]> {
  const instance = await DuckDBInstance.create(file);
  const connection = await instance.connect();
  const result = await connection.runAndReadAll(sql);
  const rows = result.getRowObjectsJson();
  connection.closeSync();
  instance.closeSync();
  return rows;
}

/** The endpoint over other connections than `memory`. */
function over(connections: string, files: Files): Files {
  return Object.fromEntries(
    Object.entries(files).map(([name, text]) => [
      name,
      text.replace("connection: [memory]", `connection: [${connections}]`),
    ]),
  );
}

describe("an attached file database", () => {
  test.each([
    ["type: duckdb", "store: { type: duckdb, path: ./store.duckdb }"],
    ["init", `store: { init: "ATTACH '{{FOLDER}}/store.duckdb' AS store" }`],
  ])("by %s: what is written is in the file", async (_, connection) => {
    await using data = await folderWith({});
    const file = join(data.path, "store.duckdb");
    await inFile(file, "CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR); INSERT INTO t VALUES (1, 'one')");
    {
      await using service = await serviceFrom({
        "eider.yaml": `connections:\n  ${connection.replace("./store.duckdb", file).replace("{{FOLDER}}", data.path)}\n`,
        ...over("store", route("GET /t", "SELECT * FROM store.t ORDER BY id")),
        ...over(
          "store",
          route(
            "POST /t",
            "INSERT INTO store.t VALUES ({{params.id}}, 'new') RETURNING *",
            `operation: { returns-data: true }\n${FIELD}`,
          ),
        ),
        ...over(
          "store",
          route("PUT /t", "UPDATE store.t SET name = 'x'; INSERT INTO store.t VALUES ({{params.id}}, 'new')", FIELD),
        ),
        ...over("store", route("DELETE /t/:id", "DELETE FROM store.t WHERE id = {{params.id}}")),
      });
      expect(await outcome(service, "POST /t", { id: 2 })).toEqual([
        200,
        { rows_affected: 1, data: [{ id: 2, name: "new" }] },
      ]);
      expect(await outcome(service, "PUT /t", { id: 3 })).toEqual([200, { rows_affected: 3 }]);
      expect((await outcome(service, "PUT /t", { id: 3 }))[0]).toBe(500);
      expect(await outcome(service, "DELETE /t/1")).toEqual([200, { rows_affected: 1 }]);
      expect(await service.json("/t")).toEqual([
        { id: 2, name: "x" },
        { id: 3, name: "new" },
      ]);
    }
    expect(await inFile(file, "SELECT * FROM t ORDER BY id")).toEqual([
      { id: 2, name: "x" },
      { id: 3, name: "new" },
    ]);
  });

  const TWO = {
    "eider.yaml":
      "connections:\n  one: { init: \"ATTACH ':memory:' AS one; CREATE TABLE one.t (id INTEGER)\" }\n  two: { init: \"ATTACH ':memory:' AS two; CREATE TABLE two.t (id INTEGER)\" }\nlimits: { max-concurrent-queries: 1 }\n",
  };
  const both = (yaml: string): Files =>
    over("one, two", route("PUT /both", "INSERT INTO one.t VALUES (2);\nINSERT INTO two.t VALUES (2)", yaml));

  test("two databases in one transaction: a problem at load", async () => {
    expect(await problemsFrom({ ...TWO, ...both("") })).toEqual([
      "put-both.sql:2:1: one transaction cannot change two databases, and this template changes 'one' and 'two'; write two endpoints, or let each statement commit by itself: operation: { transaction: false }",
    ]);
  });

  test("two databases, each statement in its own transaction", async () => {
    await using service = await serviceFrom({
      ...TWO,
      ...both("operation: { transaction: false }\n"),
      ...over(
        "one, two",
        route("GET /both", "SELECT one.t.id AS one, two.t.id AS two FROM one.t FULL JOIN two.t ON true"),
      ),
    });
    expect(await outcome(service, "PUT /both")).toEqual([200, { rows_affected: 2 }]);
    expect(await service.json("/both")).toEqual([{ one: 2, two: 2 }]);
  });

  test("two databases that the text does not show: the error of DuckDB, nothing is written, and the next one works", async () => {
    const init =
      "ATTACH ':memory:' AS one; CREATE TABLE one.t (id INTEGER); CREATE TABLE mine (id INTEGER); SET search_path = 'memory,one'";
    await using service = await serviceFrom({
      "eider.yaml": `connections:\n  one: { init: "${init}" }\nlimits: { max-concurrent-queries: 1 }\n`,
      ...over("one", route("POST /both", "INSERT INTO mine VALUES (1); INSERT INTO t VALUES (1)")),
      ...over("one", route("PUT /mine", "INSERT INTO mine VALUES (2)")),
      ...over("one", route("GET /both", "SELECT mine.id AS mine, t.id AS other FROM mine FULL JOIN t ON true")),
    });
    for (let time = 0; time < 3; time++) {
      expect(await outcome(service, "POST /both")).toEqual([
        500,
        { error: expect.stringMatching(/^Internal Server Error: .*single transaction/) },
      ]);
    }
    expect(await service.json("/both")).toEqual([]);
    expect(await outcome(service, "PUT /mine")).toEqual([200, { rows_affected: 1 }]);
    expect(await service.json("/both")).toEqual([{ mine: 2, other: null }]);
  });
});

describe("read-only: true", () => {
  const WRITES: readonly (readonly [string, string])[] = [
    ["INSERT", "INSERT INTO store.t VALUES (1)"],
    ["UPDATE", "UPDATE store.t SET id = 1"],
    ["DELETE", "DELETE FROM store.t"],
    ["DDL", "CREATE TABLE store.u (id INTEGER)"],
    ["a second statement", "SELECT 1; INSERT INTO store.t VALUES (1)"],
  ];

  test.each(WRITES)("%s is refused at load", async (_, sql) => {
    await using data = await folderWith({});
    const file = join(data.path, "store.duckdb");
    await inFile(file, "CREATE TABLE t (id INTEGER)");
    const problems = await problemsFrom({
      "eider.yaml": `connections:\n  store: { type: duckdb, path: ${file}, read-only: true }\n`,
      ...over("store", route("POST /t", sql)),
    });
    expect(problems).toEqual([expect.stringMatching(/^post-t\.(sql|yaml):\d+:\d+: .*read-only/)]);
  });

  test("a source that was down at start: 500 that says why, and nothing is written", async () => {
    await using data = await folderWith({});
    const file = join(data.path, "store.duckdb");
    await using service = await serviceFrom({
      "eider.yaml": `connections:\n  store: { type: duckdb, path: ${file}, read-only: true }\n`,
      ...over("store", route("POST /t", "INSERT INTO store.t VALUES (1)")),
      ...over("store", route("GET /t", "SELECT * FROM store.t")),
    });
    expect((await outcome(service, "POST /t"))[0]).toBe(503);
    await inFile(file, "CREATE TABLE t (id INTEGER)");
    expect(await outcome(service, "POST /t")).toEqual([
      500,
      { error: expect.stringMatching(/^Internal Server Error: .*read-only/) },
    ]);
    expect(await service.json("/t")).toEqual([]);
  });

  test("what is read from it may be written elsewhere", async () => {
    await using data = await folderWith({});
    const file = join(data.path, "store.duckdb");
    await inFile(file, "CREATE TABLE t AS SELECT range AS id FROM range(5)");
    await using service = await serviceFrom({
      "eider.yaml": `connections:\n  memory: { init: "CREATE TABLE copied (id INTEGER)" }\n  store: { type: duckdb, path: ${file}, read-only: true }\n`,
      ...over("memory, store", route("POST /copy", "INSERT INTO copied SELECT id FROM store.t")),
    });
    expect(await outcome(service, "POST /copy")).toEqual([200, { rows_affected: 5 }]);
  });

  test("duckdb.access_mode: READ_ONLY", async () => {
    await using data = await folderWith({});
    const file = join(data.path, "main.duckdb");
    await inFile(file, "CREATE TABLE t (id INTEGER)");
    const problems = await problemsFrom({
      "eider.yaml": `duckdb: { db_path: ${file}, access_mode: READ_ONLY }\nconnections: { memory: {} }\n`,
      ...route("POST /t", "INSERT INTO t VALUES (1)"),
    });
    expect(problems).toEqual([expect.stringMatching(/^post-t\.(sql|yaml):\d+:\d+: .*read-only/)]);
  });

  test("a file that may not be written is an error of its own, without its neighbours", async () => {
    await using data = await folderWith({});
    await writeFile(join(data.path, "t.csv"), "id\n1\n");
    await using service = await serviceFrom({
      "eider.yaml": `connections:\n  memory: {}\n  csv: { type: csv, path: ${join(data.path, "t.csv")} }\n`,
      ...over("csv", route("GET /t", "SELECT * FROM csv")),
      ...over("memory", route("POST /temp", "CREATE TABLE made AS SELECT 1 AS id; INSERT INTO made VALUES (2)")),
    });
    expect(await outcome(service, "POST /temp")).toEqual([200, { rows_affected: expect.any(Number) }]);
    expect((await outcome(service, "POST /temp"))[0]).toBe(500);
    expect(await service.json("/t")).toEqual([{ id: 1 }]);
  });
});
