import { describe, expect } from "vitest";
import { testNeeding } from "../needing.ts";
import { folderWith } from "../process/program.ts";
import { type Files, problemsFrom, serviceFrom } from "../service.ts";
import { recordStores } from "../suites/record-stores.ts";
import { bodyFields, INT, outcome, route } from "./write-project.ts";

/** What works in attached databases, and what Eider rejects at load because it never would. */

const stores = recordStores().filter(({ name }) => ["SQLite", "Postgres", "MariaDB"].includes(name));
const FIELD = bodyFields({ id: INT });
const createTable = (prefix: string): string =>
  `CREATE TABLE IF NOT EXISTS ${prefix}t (id INTEGER PRIMARY KEY, name VARCHAR)`;

function overStore(target: string, sql: string, yaml = ""): Files {
  return Object.fromEntries(
    Object.entries(route(target, sql, yaml)).map(([file, text]) => [file, text.replace("[memory]", "[store]")]),
  );
}

const rejected = (line: number, column: number, product: string): string =>
  `put-t.sql:${line}:${column}: RETURNING does not work in store.t, a table of an attached ${product} database; ` +
  "leave it out, and end the template with a query that returns the rows: SELECT ... FROM store.t WHERE ...";

describe.each(stores)("$name", ({ name, missing, main }) => {
  testNeeding(missing)("RETURNING is rejected at load, with its location", async () => {
    await using data = await folderWith({});
    const project = { "eider.yaml": await main(data.path, createTable) };
    const problemsOf = (sql: string): Promise<string[]> =>
      problemsFrom({ ...project, ...overStore("PUT /t", sql, `operation: { returns-data: true }\n${FIELD}`) });
    const product = name === "MariaDB" ? "MySQL" : name;
    const insert = "INSERT INTO store.t VALUES ({{params.id}}, 'new')";
    const { length } = "INSERT INTO store.t SELECT 1, 'x' ";
    for (const sql of [
      `${insert}\n  RETURNING id`,
      "UPDATE store.t SET name = 'x' WHERE id = {{params.id}}\n  RETURNING *",
      "DELETE FROM store.t WHERE id = {{params.id}}\n  RETURNING id, name",
    ]) {
      expect(await problemsOf(sql)).toEqual([rejected(2, 3, product)]);
    }
    // An earlier statement that did not run excuses missing names, but not this.
    expect(await problemsOf(`${insert};\nINSERT INTO store.t SELECT 1, 'x' RETURNING id`)).toEqual([
      rejected(2, length + 1, product),
    ]);
    if (name === "Postgres") {
      expect(await problemsOf(`${insert}\nON CONFLICT DO NOTHING RETURNING id`)).toEqual([rejected(2, 24, product)]);
    }
  });

  testNeeding(missing)("the rows of a query at the end are returned instead", async () => {
    await using data = await folderWith({});
    await using service = await serviceFrom({
      "eider.yaml": await main(data.path, createTable),
      ...overStore(
        "POST /t",
        "INSERT INTO store.t VALUES ({{params.id}}, 'new'); SELECT * FROM store.t WHERE id = {{params.id}}",
        `operation: { returns-data: true }\n${FIELD}`,
      ),
    });
    expect(await outcome(service, "POST /t", { id: 7 })).toEqual([
      200,
      { rows_affected: 1, data: [{ id: 7, name: "new" }] },
    ]);
  });

  if (name !== "Postgres") {
    testNeeding(missing)("MERGE and ON CONFLICT are rejected at load", async () => {
      await using data = await folderWith({});
      const project = { "eider.yaml": await main(data.path, createTable) };
      const upsert = "INSERT INTO store.t VALUES ({{params.id}}, 'new')\nON CONFLICT DO NOTHING";
      const problems = await problemsFrom({ ...project, ...overStore("PUT /t", upsert, FIELD) });
      expect(problems).toEqual([
        expect.stringMatching(
          /^put-t\.sql:2:1: MERGE, ON CONFLICT and INSERT OR do not work in store\.t, .*; write an UPDATE and an INSERT \.\.\. SELECT \.\.\. WHERE NOT EXISTS \(\.\.\.\)$/,
        ),
      ]);
    });

    testNeeding(missing)("what the message about MERGE and ON CONFLICT suggests works", async () => {
      await using data = await folderWith({});
      await using service = await serviceFrom({
        "eider.yaml": await main(data.path, createTable),
        ...overStore(
          "PUT /t",
          `UPDATE store.t SET name = {{params.name}} WHERE id = {{params.id}};
          INSERT INTO store.t SELECT {{params.id}}, {{params.name}}
          WHERE NOT EXISTS (SELECT 1 FROM store.t WHERE id = {{params.id}})`,
          bodyFields({ id: INT, name: "" }),
        ),
        ...overStore("GET /t", "SELECT * FROM store.t ORDER BY id"),
      });
      for (const [id, name] of [
        [1, "a"],
        [2, "b"],
        [1, "c"],
      ]) {
        expect(await outcome(service, "PUT /t", { id, name })).toEqual([200, { rows_affected: 1 }]);
      }
      expect(await service.json("/t")).toEqual([
        { id: 1, name: "c" },
        { id: 2, name: "b" },
      ]);
    });
  }
});
