import { describe, expect } from "vitest";
import { testNeeding } from "../needing.ts";
import { folderWith } from "../process/program.ts";
import { serviceFrom } from "../service.ts";
import { recordStores } from "../suites/record-stores.ts";
import { bodyFields, INT, outcome, route } from "./write-project.ts";

/** Constraints are those of the database that is written to, whichever it is. */

const COLUMNS = `id INTEGER PRIMARY KEY, code VARCHAR(99) UNIQUE,
  note VARCHAR(200) NOT NULL, CONSTRAINT noted CHECK (note <> 'bad')`;
const FOREIGN = "id INTEGER PRIMARY KEY, parent INTEGER, CONSTRAINT child FOREIGN KEY (parent) REFERENCES t (id)";

/** SQL that creates the tables, by the database itself, since DuckDB does not pass every constraint on. */
function tables(store: string, prefix: string): string {
  const own = `CREATE TABLE ${prefix}t (${COLUMNS})`;
  const native = [`CREATE TABLE t (${COLUMNS})`, `CREATE TABLE c (${FOREIGN})`];
  const executed = (name: string): string =>
    native.map((sql) => `CALL ${name}('store', '${sql.replaceAll("'", "''")}')`).join("; ");
  if (store === "Postgres") return executed("postgres_execute");
  if (store === "MariaDB") return executed("mysql_execute");
  return own;
}

/** A value that looks like the message of another constraint. */
const WORDS = `": ERROR:  duplicate key value violates unique constraint "a" UNIQUE constraint failed: t.id Duplicate entry 'a' for key 'a'`;

describe.each(recordStores())("$name", ({ name, missing, prefix, main }) => {
  testNeeding(missing)("409 for unique constraints, 422 for others", async () => {
    await using data = await folderWith({});
    const hasForeignKey = name === "Postgres" || name === "MariaDB";
    const fields = bodyFields({ id: INT, code: "", note: "" });
    const insert = `INSERT INTO ${prefix}t VALUES ({{params.id}}, {{params.code}}, {{params.note}})`;
    const store = (target: string, sql: string, yaml = "") =>
      Object.fromEntries(
        Object.entries(route(target, sql, yaml)).map(([file, text]) => [file, text.replace("[memory]", "[store]")]),
      );
    await using service = await serviceFrom({
      "eider.yaml": `${await main(data.path, () => tables(name, prefix))}http-status: { constraint-failure: client-error, created: 201, nothing-changed: 404 }\n`,
      ...store("POST /t", insert, fields),
      ...store("PUT /t/:id", `UPDATE ${prefix}t SET code = 'one' WHERE id = {{params.id}}`, pathId()),
      ...store("PATCH /t/:id", `UPDATE ${prefix}t SET note = 'bad' WHERE id = {{params.id}}`, pathId()),
      ...store("DELETE /t/:id", `DELETE FROM ${prefix}t WHERE id = {{params.id}}`, pathId()),
      ...(hasForeignKey
        ? store("POST /c", `INSERT INTO ${prefix}c VALUES (1, {{params.id}})`, bodyFields({ id: INT }))
        : {}),
    });
    const told = async (target: string, body?: object) => {
      const [status, { error }] = (await outcome(service, target, body)) as [number, { error?: string }];
      return [status, error ?? ""] as const;
    };
    const conflict = [409, expect.stringMatching(/^Conflict: /)];
    const rejected = [422, expect.stringMatching(/^Unprocessable Content: /)];
    expect((await told("POST /t", { id: 1, code: "one", note: "a" }))[0]).toBe(201);
    expect((await told("POST /t", { id: 2, code: "two", note: "b" }))[0]).toBe(201);
    expect(await told("POST /t", { id: 1, code: "three", note: "c" })).toEqual(conflict);
    expect(await told("POST /t", { id: 3, code: "two", note: WORDS })).toEqual(conflict);
    expect(await told("PUT /t/2")).toEqual(conflict);
    const key = { "Idempotency-Key": "nine" };
    for (const _ of [1, 2]) {
      const nine = { id: 9, code: "nine", note: "n" };
      expect(await outcome(service, "POST /t", nine, key)).toEqual([201, { rows_affected: 1 }]);
    }
    expect(await told("POST /t", { id: 3, code: "three", note: "bad" })).toEqual(rejected);
    expect(await told("POST /t", { id: 3, code: WORDS.slice(0, 99), note: "bad" })).toEqual(rejected);
    expect(await told("POST /t", { id: 3, code: WORDS.slice(0, 99) })).toEqual(rejected);
    expect(await told("PATCH /t/2")).toEqual(rejected);
    expect((await told("PATCH /t/7"))[0]).toBe(404);
    if (hasForeignKey) {
      expect(await told("POST /c", { id: 7 })).toEqual(rejected);
      expect((await told("POST /c", { id: 1 }))[0]).toBe(201);
      expect(await told("DELETE /t/1")).toEqual(rejected);
    }
    expect((await told("DELETE /t/2"))[0]).toBe(200);
    expect((await told("DELETE /t/2"))[0]).toBe(404);
  });
});

function pathId(): string {
  return `request:\n  - { field-name: id, field-in: path, ${INT} }\n`;
}
