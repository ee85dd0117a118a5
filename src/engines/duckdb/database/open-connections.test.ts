import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { failureOf, readOf, testEngine } from "../../../../test/suites/duckdb-engine.ts";
import { RequestFailure } from "../../../failure.ts";
import type { ConnectionDefinition } from "../../embedded-engine.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "eider-sources-"));
});
afterAll(() => rm(folder, { recursive: true }));

function source(name: string, init: string | undefined, ...secrets: readonly string[]): ConnectionDefinition {
  return { name, init, secrets };
}

test("init runs once, before the first use, however many come at once", async () => {
  await using t = await testEngine("CREATE TABLE runs (n INT)", {
    connections: [
      source("a", "INSERT INTO runs VALUES (1); CREATE TABLE made AS SELECT 7 AS x"),
      source("b", undefined),
    ],
  });
  const reads = Array.from({ length: 20 }, () => t.read({ connections: ["a", "b"], statements: "FROM made" }));
  for (const { rows } of await Promise.all(reads)) expect(rows).toEqual([[7]]);
  await t.engine.openConnection("a");
  expect((await t.read({ statements: "SELECT count(*) FROM runs" })).rows).toEqual([[1]]);
});

test("a source that is down is tried again at every use, and goes on where it stopped", async () => {
  const file = join(folder, "late.db");
  await using t = await testEngine("", {
    connections: [
      source(
        "late",
        `-- first\nATTACH ':memory:' AS early; ATTACH '${file}' AS late (READ_ONLY); CREATE TABLE ok AS FROM late.x`,
      ),
    ],
  });
  const read = () => t.read({ connections: ["late"], statements: "FROM ok" });
  for (const _ of [1, 2]) {
    const failure = await failureOf(read());
    expect(failure.failure).toEqual({ kind: "connection-down", connection: "late" });
    expect(String(failure.cause)).toContain("late.db");
  }
  await t.sql(`ATTACH '${file}' AS writer; CREATE TABLE writer.x AS SELECT 42 AS n; DETACH writer`);
  expect((await read()).rows).toEqual([[42]]);
});

test("what a failed transaction of an init had done is done again", async () => {
  await using t = await testEngine("", {
    connections: [
      source("a", "CREATE TABLE one (x INT); BEGIN; CREATE TABLE two (x INT); FROM missing; COMMIT; FROM two"),
    ],
  });
  expect((await failureOf(t.engine.openConnection("a"))).failure.kind).toBe("connection-down");
  await t.sql("CREATE TABLE missing AS SELECT 1");
  await t.engine.openConnection("a");
  expect((await t.read({ statements: "FROM two" })).rows).toEqual([]);
});

test("messages hold no secrets", async () => {
  await using t = await testEngine("", {
    connections: [
      source("a", "SELECT error('cannot reach hunter2 with password=abc and postgres://u:pw@host/db')", "hunter2"),
      source("b", undefined, "t0psecret"),
    ],
  });
  const { cause } = await failureOf(t.engine.openConnection("a"));
  expect(String(cause)).toBe(
    "Error: Invalid Input Error: cannot reach *** with password=*** and postgres://u:***@host/db",
  );
  const failed = await failureOf(t.read({ connections: ["b"], statements: "SELECT t0psecret, 'nobody' FROM nowhere" }));
  expect(JSON.stringify(failed.failure)).not.toContain("t0psecret");
  const shown = await failureOf(t.read({ connections: ["b"], statements: "SELECT 't0psecret'::INT" }));
  expect(shown.failure).toEqual({
    kind: "query-failed",
    message: "Conversion Error: Could not convert string '***' to INT32",
  });
});

test("a query over a remote source that cannot be reached says so", async () => {
  await using t = await testEngine("SET autoinstall_known_extensions = false; SET autoload_known_extensions = false", {
    connections: [source("pg", "SELECT 'postgres'"), source("local", "SELECT 1")],
  });
  const kind = async (connection: string, statements: string) =>
    (await failureOf(t.read({ connections: [connection], statements }))).failure.kind;
  // Without its extension, a remote file is out of reach.
  const remote = "FROM read_csv('https://127.0.0.1:1/a.csv')";
  expect([await kind("pg", remote), await kind("local", remote)]).toEqual(["connection-down", "query-failed"]);
  expect(await kind("pg", "SELECT error('connection refused')")).toBe("query-failed");
});

test("SET and USE of an init hold on every connection", async () => {
  await using t = await testEngine("CREATE SCHEMA other; CREATE TABLE other.here AS SELECT 1 AS x", {
    connections: [source("a", "SET search_path = 'other'; SET VARIABLE v = 5; SET GLOBAL threads = 2")],
  });
  expect((await t.read({ statements: "SELECT 1" })).rows).toEqual([[1]]);
  const reads = Array.from({ length: 10 }, () =>
    t.read({ connections: ["a"], statements: "SELECT x, getvariable('v') FROM here" }),
  );
  for (const { rows } of await Promise.all(reads)) expect(rows).toEqual([[1, 5]]);
});

test("a global setting of an init is set once, not again by each connection", async () => {
  const init = "SET GLOBAL threads = 3; -- a comment\nSET GLOBAL max_temp_directory_size = '2GiB'";
  await using t = await testEngine("", { connections: [source("a", init)] });
  const read = async () => {
    const statements = "SELECT current_setting('threads')::VARCHAR, current_setting('max_temp_directory_size')";
    return (await t.read({ connections: ["a"], statements })).rows;
  };
  expect(await read()).toEqual([["3", "2.0 GiB"]]);
  await t.sql("SET GLOBAL threads = 2; SET GLOBAL max_temp_directory_size = '4GiB'");
  for (const rows of await Promise.all(Array.from({ length: 10 }, read))) expect(rows).toEqual([["2", "4.0 GiB"]]);
});

test("who waits for a slow init can leave; the init goes on", async () => {
  await using t = await testEngine("CREATE TABLE big AS SELECT range AS i FROM range(8000)", {
    connections: [
      source("slow", "CREATE TABLE done AS SELECT count(*) AS n FROM big a, big b WHERE (a.i * b.i) % 3 = 1"),
    ],
  });
  const controller = new AbortController();
  const reason = new RequestFailure({ kind: "cancelled" });
  const reading = failureOf(
    t.engine.read({ ...readOf({ connections: ["slow"], statements: "FROM done" }), signal: controller.signal }),
  );
  setTimeout(() => controller.abort(reason), 5);
  expect(await reading).toBe(reason);
  await t.engine.openConnection("slow");
  expect((await t.read({ statements: "SELECT count(*) FROM done" })).rows).toEqual([[1]]);
});

test("a view that an init replaces is seen by statements that were prepared before", async () => {
  await using t = await testEngine(
    "ATTACH ':memory:' AS o; CREATE TABLE o.a AS SELECT 1 AS x; CREATE TABLE o.b AS SELECT 2 AS x; CREATE VIEW v AS FROM o.a",
    { connections: [source("swap", "CREATE OR REPLACE VIEW v AS FROM o.b")], maxConcurrentQueries: 1 },
  );
  const read = (connections: readonly string[]) =>
    t.read({ connections, statements: "FROM v", window: { limit: 5, offset: 0 } });
  expect((await read([])).rows).toEqual([[1]]);
  expect((await read(["swap"])).rows).toEqual([[2]]);
});
