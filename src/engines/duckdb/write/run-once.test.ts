import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, describe, expect, test } from "vitest";
import {
  answerOf,
  failureOf,
  readOf,
  statement,
  type TestEngine,
  testEngine,
} from "../../../../test/suites/duckdb-engine.ts";
import { encodeWritten } from "../../../calls/encode-written.ts";
import { openIdempotentResponses } from "../../../calls/idempotency.ts";
import type { WriteOnce } from "../../write-once.ts";
import { openDuckDb } from "../open-duckdb.ts";

const folder = mkdtempSync(join(tmpdir(), "eider-once-"));
afterAll(() => rmSync(folder, { recursive: true }));

const signal = new AbortController().signal;
type Store = WriteOnce["store"];

/** Sends these statements with a key of their own, each time as the same request. */
function sender(t: TestEngine, store: Store, { transaction }: { readonly transaction: boolean }) {
  const responses = openIdempotentResponses(Date.now);
  return async (...texts: readonly string[]): Promise<string> => {
    const { body } = await responses.once({ scope: "s", key: "k", fingerprint: "f" }, async (record) => {
      const statements = texts.map((sql) => statement(sql));
      const write = { connections: [], statements, transaction, returnsData: true, signal };
      const written = await t.engine.writeOnce(write, { ...record, store, encode: encodeWritten });
      return { rowsAffected: written.rowsAffected, body: written.response };
    });
    return body;
  };
}

async function rowsIn(t: TestEngine, table: string): Promise<unknown> {
  return (await t.read({ statements: `SELECT * FROM ${table} ORDER BY ALL` })).rows;
}

const SETUP = "CREATE TABLE t (i INTEGER); CREATE TABLE u (i INTEGER); CREATE TABLE gate (i INTEGER)";
const CHECK = "SELECT CASE WHEN count(*) = 0 THEN error('409: closed') END FROM gate";

describe.each<Store>([{ kind: "memory" }, { kind: "database", name: "memory", type: "duckdb" }])(
  "transaction: false, with the record in the $kind",
  (store) => {
    test.each<[string, readonly string[], string]>([
      [
        "rows that an earlier request returned are in the response",
        ["INSERT INTO t VALUES (1) RETURNING i + 10 AS x", CHECK, "INSERT INTO u VALUES (2)"],
        '{"rows_affected":2,"data":[{"x":11}]}',
      ],
      [
        "they come before those of a SELECT at the end",
        ["INSERT INTO t VALUES (1) RETURNING i + 10 AS x", CHECK, "INSERT INTO u VALUES (2)", "SELECT 5 AS y"],
        '{"rows_affected":2,"data":[{"x":11}]}',
      ],
      [
        "and give way to those of a later RETURNING",
        ["INSERT INTO t VALUES (1) RETURNING i", CHECK, "INSERT INTO u VALUES (2) RETURNING i AS z"],
        '{"rows_affected":2,"data":[{"z":2}]}',
      ],
      [
        "a SELECT at the end is run again",
        ["INSERT INTO t VALUES (1)", "INSERT INTO u VALUES (2)", CHECK, "SELECT count(*)::INTEGER AS n FROM gate"],
        '{"rows_affected":2,"data":[{"n":1}]}',
      ],
    ])("%s", async (_, texts, expected) => {
      await using t = await testEngine(SETUP);
      const send = sender(t, store, { transaction: false });
      for (let time = 0; time < 2; time++) await failureOf(send(...texts));
      expect(await rowsIn(t, "t")).toEqual([[1]]);
      await t.sql("INSERT INTO gate VALUES (1)");
      for (let time = 0; time < 2; time++) expect(await send(...texts)).toBe(expected);
      expect([await rowsIn(t, "t"), await rowsIn(t, "u")]).toEqual([[[1]], [[2]]]);
    });
  },
);

test("a record that cannot be committed with the change: the key is refused, and nothing is written", async () => {
  await using t = await testEngine(`${SETUP}; ATTACH ':memory:' AS elsewhere`);
  for (const transaction of [true, false]) {
    const send = sender(t, { kind: "database", name: "elsewhere", type: "duckdb" }, { transaction });
    const { failure } = await failureOf(send("INSERT INTO t VALUES (1)", "INSERT INTO u VALUES (1)"));
    expect(failure).toEqual({ kind: "key-refused" });
    expect([await rowsIn(t, "t"), await rowsIn(t, "u")]).toEqual([[], []]);
  }
});

test("a table that was dropped is created again", async () => {
  await using t = await testEngine(SETUP);
  const send = sender(t, { kind: "database", name: "memory", type: "duckdb" }, { transaction: true });
  expect(await send("INSERT INTO t VALUES (1)")).toBe('{"rows_affected":1}');
  await t.sql("DROP TABLE eider_idempotency_keys");
  await failureOf(send("INSERT INTO t VALUES (1)"));
  expect(await send("INSERT INTO t VALUES (2)")).toBe('{"rows_affected":1}');
  expect(await send("INSERT INTO t VALUES (2)")).toBe('{"rows_affected":1}');
  expect(await rowsIn(t, "t")).toEqual([[1], [2]]);
});

describe("the table of an earlier version", () => {
  const OLD = `
    CREATE TABLE eider_idempotency_keys (scope VARCHAR, key VARCHAR, fingerprint VARCHAR, answer VARCHAR, since BIGINT, PRIMARY KEY (scope, key));
    INSERT INTO eider_idempotency_keys VALUES ('s', 'k', 'f', 'the first response', ${Date.now()}), ('s', 'l', 'private text of a request', '{}', ${Date.now()});
    CREATE TABLE t (i INTEGER);`;

  async function makeOld(file: string): Promise<void> {
    const instance = await DuckDBInstance.create(file);
    const connection = await instance.connect();
    await connection.run(OLD);
    connection.closeSync();
    instance.closeSync();
  }

  test("is replaced when the main database is opened: the text goes, the keys stay", async () => {
    const file = join(folder, "old.duckdb");
    await makeOld(file);
    const engine = await openDuckDb({
      path: file,
      settings: new Map(),
      connections: [],
      maxConcurrentQueries: 2,
      maxQueued: 10,
    });
    try {
      const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
      const rows = await engine.read(readOf({ statements: "SELECT id, request FROM eider_idempotency_keys" }));
      expect((await answerOf(rows)).rows).toEqual([
        [hash, hash],
        [hash, hash],
      ]);
      const responses = openIdempotentResponses(Date.now);
      const { body } = await responses.once({ scope: "s", key: "k", fingerprint: "f" }, async (record) => {
        const statements = [statement("INSERT INTO t VALUES (1)")];
        const write = { connections: [], statements, transaction: true, returnsData: false, signal };
        const store: Store = { kind: "database", name: "old", type: "duckdb" };
        const written = await engine.writeOnce(write, { ...record, store, encode: encodeWritten });
        return { rowsAffected: written.rowsAffected, body: written.response };
      });
      expect(body).toBe("the first response");
    } finally {
      await engine.close();
    }
  });

  test("is replaced in an attached database when the first key comes", async () => {
    const file = join(folder, "attached.duckdb");
    await makeOld(file);
    await using t = await testEngine(`ATTACH '${file}' AS attached`);
    const send = sender(t, { kind: "database", name: "attached", type: "duckdb" }, { transaction: true });
    expect(await send("INSERT INTO attached.t VALUES (1)")).toBe("the first response");
    expect(await rowsIn(t, "attached.t")).toEqual([]);
  });
});
