import { mkdtemp, rename, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  answerOf,
  failureOf,
  readOf,
  statement,
  type TestEngine,
  testEngine,
} from "../../../../test/suites/duckdb-engine.ts";
import type { EmbeddedEngine } from "../../embedded-engine.ts";
import { openDuckDb } from "../open-duckdb.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "eider-lock-"));
});
afterAll(() => rm(folder, { recursive: true }));

const source = (name: string, init: string) => ({ name, init, secrets: [] });

async function firstValue(engine: EmbeddedEngine, sql: string): Promise<unknown> {
  return (await answerOf(await engine.read(readOf({ statements: sql })))).rows[0]?.[0];
}

const settingOf = (engine: EmbeddedEngine, name: string): Promise<unknown> =>
  firstValue(engine, `SELECT current_setting('${name}')::VARCHAR`);

/** What becomes of statements in a connection of the pool, the last of which gives a text. */
async function ran(t: TestEngine, ...statements: readonly string[]): Promise<unknown> {
  const read = t.read({ statements: statements.map((sql) => statement(sql)) });
  const { failure } = await failureOf(read).catch(async () => ({ failure: undefined }));
  if (failure === undefined) return (await read).rows[0]?.[0];
  return failure.kind === "query-failed" ? failure.message.split("\n")[0] : failure.kind;
}

const LOCKED = (name: string): string =>
  `Invalid Input Error: Cannot change configuration option "${name}" - the configuration has been locked`;

test("after the lock no setting changes; variables, schemas and tables from a PIVOT work as before", async () => {
  await using t = await testEngine("CREATE TABLE t AS SELECT 'a' AS k, 1 AS v");
  expect(await ran(t, "SET threads = 1", "SELECT current_setting('threads')::VARCHAR")).toBe("1");
  await t.engine.lock([]);
  await t.engine.lock([]);
  expect(await ran(t, "SET threads = 2", "SELECT 'changed'")).toBe(LOCKED("threads"));
  expect(await ran(t, "SET GLOBAL enable_external_access = false", "SELECT 'changed'")).toBe(
    LOCKED("enable_external_access"),
  );
  expect(await ran(t, "SET lock_configuration = false", "SELECT 'changed'")).toBe(LOCKED("lock_configuration"));
  expect(await ran(t, "RESET allowed_configs", "SELECT 'changed'")).toBe(LOCKED("allowed_configs"));
  expect(await ran(t, "SET VARIABLE x = 'kept'", "SELECT getvariable('x')")).toBe("kept");
  expect(await ran(t, "USE memory", "SELECT current_database()")).toBe("memory");
  const pivoted = "CREATE TABLE p AS PIVOT t ON k USING sum(v)";
  const signal = new AbortController().signal;
  const write = { connections: [], statements: [statement(pivoted)], transaction: true, returnsData: false, signal };
  await t.engine.write(write);
  expect(await firstValue(t.engine, "SELECT a::VARCHAR FROM p")).toBe("1");
});

test("what an init sets for each connection holds on those that are made after the lock", async () => {
  const init =
    "SET TimeZone = 'Asia/Tokyo'; SET streaming_buffer_size = '3MB'; SET GLOBAL default_null_order = 'nulls_first'";
  await using t = await testEngine("", { connections: [source("a", init)] });
  await t.engine.openConnection("a");
  await t.engine.lock([]);
  const wanted = "current_setting('TimeZone') || ' ' || current_setting('streaming_buffer_size')";
  // SET VARIABLE spoils a connection for others, so each of these gets a new one.
  for (const _ of [1, 2, 3]) {
    expect(await ran(t, "SET VARIABLE x = 1", `SELECT ${wanted}`)).toBe("Asia/Tokyo 2.8 MiB");
  }
  expect(await ran(t, "SET memory_limit = '1GB'", "SELECT 'changed'")).toBe(LOCKED("memory_limit"));
});

test.each([{}, { lock_configuration: "true" }])(
  "settings that change what SQL means hold for SQL of the project, not for that of extensions: %j",
  async (lock) => {
    const engine = await openDuckDb({
      path: undefined,
      settings: new Map(Object.entries({ default_order: "DESC", ...lock })),
      connections: [
        source("a", "CREATE TABLE t AS SELECT range AS x FROM range(3) ORDER BY x"),
        ...("lock_configuration" in lock ? [] : [source("b", "SET default_null_order = 'NULLS_FIRST'")]),
      ],
      maxConcurrentQueries: 2,
      maxQueued: 10,
    });
    for (const name of "lock_configuration" in lock ? ["a"] : ["a", "b"]) await engine.openConnection(name);
    await engine.lock([]);
    expect(await firstValue(engine, "SELECT x::VARCHAR FROM t LIMIT 1")).toBe("2");
    expect(await firstValue(engine, "SELECT x::VARCHAR FROM t ORDER BY x")).toBe("2");
    const kept = "concat_ws(' ', current_setting('default_order'), current_setting('default_null_order'))";
    await engine.attach("none", `CREATE TABLE outside AS SELECT ${kept} AS v`);
    expect(await firstValue(engine, "SELECT v FROM outside")).toBe("ASCENDING NULLS_LAST");
    await engine.close();
  },
);

test("an init whose source is down sets what it must, and installs what it must, when it is back", async () => {
  const file = join(folder, "back.db");
  const seen = "CREATE TABLE seen AS SELECT current_setting('autoinstall_known_extensions')::VARCHAR AS v";
  const init = `ATTACH '${file}' AS back (READ_ONLY); SET TimeZone = 'Asia/Tokyo'; ${seen}`;
  await using t = await testEngine("", { connections: [source("back", init)] });
  expect((await failureOf(t.engine.openConnection("back"))).failure.kind).toBe("connection-down");
  await t.engine.lock([]);
  expect(await settingOf(t.engine, "lock_configuration")).toBe("true");
  expect(await settingOf(t.engine, "autoinstall_known_extensions")).toBe("false");
  expect((await failureOf(t.engine.openConnection("back"))).failure.kind).toBe("connection-down");
  expect(await settingOf(t.engine, "autoinstall_known_extensions")).toBe("false");
  // DuckDB may hold a detached file for a moment, and would not attach it again under the same path.
  await t.sql(`ATTACH '${file}.new' AS writer; DETACH writer`);
  await rename(`${file}.new`, file);
  await t.engine.openConnection("back");
  expect(await firstValue(t.engine, "SELECT v FROM seen")).toBe("true");
  expect(await settingOf(t.engine, "TimeZone")).toBe("Asia/Tokyo");
  expect(await settingOf(t.engine, "autoinstall_known_extensions")).toBe("false");
});

test("a setting that is unknown until its init has run defers the lock", async () => {
  const file = join(folder, "later.db");
  const init = `ATTACH '${file}' AS later (READ_ONLY); SET lock_configuration = true`;
  await using t = await testEngine("", { connections: [source("later", init)] });
  expect((await failureOf(t.engine.openConnection("later"))).failure.kind).toBe("connection-down");
  await t.engine.lock([]);
  expect(await settingOf(t.engine, "lock_configuration")).toBe("false");
  await t.sql(`ATTACH '${file}' AS writer; DETACH writer`);
  await t.engine.openConnection("later");
  expect(await settingOf(t.engine, "lock_configuration")).toBe("true");
});

test("settings that templates may change are those that are named", async () => {
  await using t = await testEngine();
  await t.engine.lock(["timezone"]);
  expect(await ran(t, "SET TimeZone = 'Asia/Tokyo'", "SELECT current_setting('TimeZone')")).toBe("Asia/Tokyo");
  expect(await settingOf(t.engine, "TimeZone")).not.toBe("Asia/Tokyo");
  expect(await ran(t, "SET threads = 1", "SELECT 'changed'")).toBe(LOCKED("threads"));
});

test.each([
  [{ lock_configuration: "false" }, "false false"],
  [{ Lock_Configuration: "true" }, "true false"],
  [{ autoinstall_known_extensions: "true" }, "true true"],
  [{ lock_configuration: "true", autoinstall_known_extensions: "true" }, "true true"],
  [{}, "true false"],
])("the project's own word %j counts: %s", async (settings, expected) => {
  const engine = await openDuckDb({
    path: undefined,
    settings: new Map(Object.entries(settings)),
    connections: [source("a", "CREATE TABLE t AS SELECT 1 AS x")],
    maxConcurrentQueries: 2,
    maxQueued: 10,
  });
  try {
    await engine.openConnection("a");
    await engine.lock([]);
    const names = ["lock_configuration", "autoinstall_known_extensions"];
    expect((await Promise.all(names.map((name) => settingOf(engine, name)))).join(" ")).toBe(expected);
  } finally {
    await engine.close();
  }
});

test("after the lock no extension is downloaded, whatever a statement needs", async () => {
  const asked: string[] = [];
  const repository = createServer((request, answer) => {
    asked.push(request.url ?? "");
    answer.writeHead(404).end();
  });
  await new Promise<void>((resolve) => repository.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(repository.address() as AddressInfo).port}`;
  const settings = `SET GLOBAL autoinstall_extension_repository = '${address}'; SET GLOBAL extension_directory = '${folder}'`;
  const needing = "SELECT * FROM read_xlsx('x.xlsx')";
  try {
    await using t = await testEngine(settings);
    const before = await t.engine.plan([statement(needing)]);
    expect(asked.join()).toMatch(/excel/);
    asked.length = 0;
    await t.engine.lock([]);
    const after = await t.engine.plan([statement(needing)]);
    expect(after).toEqual(before);
    expect(after).toMatchObject({ kind: "names", message: expect.stringMatching(/^this needs the extension 'excel'/) });
    expect((await failureOf(t.read({ statements: needing }))).failure.kind).toBe("query-failed");
    expect(asked).toEqual([]);
  } finally {
    repository.close();
    repository.closeAllConnections();
  }
});
