import duckdb from "@duckdb/node-bindings";
import { afterEach, beforeEach, expect, test } from "vitest";
import { inspect } from "../plan/inspect.ts";
import { swapDatabase } from "./swap-database.ts";

let database: duckdb.Database;
let connection: duckdb.Connection;
const run = (sql: string): Promise<unknown> => duckdb.query(connection, sql);

beforeEach(async () => {
  database = await duckdb.open(":memory:");
  connection = await duckdb.connect(database);
  for (const [name, value] of [
    ["a", 1],
    ["a~next", 2],
  ]) {
    await run(`ATTACH ':memory:' AS "${name}"; CREATE TABLE "${name}".t AS SELECT ${value} AS v`);
  }
});

afterEach(() => {
  duckdb.disconnect_sync(connection);
  duckdb.close_sync(database);
});

async function attached(): Promise<unknown> {
  const sql = "SELECT database_name FROM duckdb_databases() WHERE NOT internal AND database_name LIKE 'a%' ORDER BY 1";
  return (await inspect(connection, { sql, values: [] })).map(([name]) => name);
}

const valueInA = async (): Promise<unknown> =>
  (await inspect(connection, { sql: "SELECT v::VARCHAR FROM a.t", values: [] }))[0]?.[0];

test("the new database gets the name, the old one another", async () => {
  await swapDatabase({ alias: "a", retiredAs: "a~old", run });
  expect(await attached()).toEqual(["a", "a~old"]);
  expect(await valueInA()).toBe("2");
});

test.each([1, 2])("if step %i fails, the old database keeps its name and the new one is detached", async (failing) => {
  let step = 0;
  const failure = new Error("no");
  const failingRun = (sql: string): Promise<unknown> => (++step === failing ? Promise.reject(failure) : run(sql));
  await expect(swapDatabase({ alias: "a", retiredAs: "a~old", run: failingRun })).rejects.toBe(failure);
  expect(await attached()).toEqual(["a"]);
  expect(await valueInA()).toBe("1");
});
