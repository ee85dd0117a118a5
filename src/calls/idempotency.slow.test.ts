import { describe, expect, test } from "vitest";
import { type TestEngine, testEngine } from "../../test/suites/duckdb-engine.ts";
import type { WriteOnce } from "../engines/write-once.ts";
import { RequestFailure } from "../failure.ts";
import { type IdempotentResponses, openIdempotentResponses } from "./idempotency.ts";

const HOUR = 60 * 60 * 1000;
const signal = new AbortController().signal;
const MEMORY: WriteOnce["store"] = { kind: "memory" };
const DATABASE: WriteOnce["store"] = { kind: "database", name: "memory", type: "duckdb" };

interface RunnerOptions {
  readonly store: WriteOnce["store"];
  /** Added to each response. */
  readonly filler?: string;
}

/** Each run adds a row to `t`; responses are numbered. */
function runner({ engine }: TestEngine, responses: IdempotentResponses, { store, filler = "" }: RunnerOptions) {
  let runs = 0;
  return async (key: string, fingerprint = "same"): Promise<string> => {
    const { body } = await responses.once({ scope: "POST /t", key, fingerprint }, async (record) => {
      const write = {
        connections: [],
        statements: [{ sql: "INSERT INTO t VALUES (1)", values: [] }],
        transaction: true,
        returnsData: false,
        signal,
      };
      const { response, rowsAffected } = await engine.writeOnce(write, {
        ...record,
        store,
        encode: async () => `response ${++runs}${filler}`,
      });
      return { rowsAffected, body: response };
    });
    return body;
  };
}

async function count({ read }: TestEngine, what = "t"): Promise<unknown> {
  const { rows } = await read({ statements: `SELECT count(*)::INTEGER FROM ${what}` });
  return rows[0]?.[0];
}

describe.each([MEMORY, DATABASE])("$kind", (store) => {
  test("a key is valid for 24 hours, and can be reused then", async () => {
    await using engine = await testEngine("CREATE TABLE t (i INTEGER)");
    let clock = 1_000 * HOUR;
    const send = runner(
      engine,
      openIdempotentResponses(() => clock),
      { store },
    );
    expect(await send("a")).toBe("response 1");
    clock += 24 * HOUR - 1;
    expect(await send("a")).toBe("response 1");
    await expect(send("a", "other")).rejects.toMatchObject({ failure: { kind: "key-reused" } });
    await expect(send("a", "other")).rejects.toBeInstanceOf(RequestFailure);
    clock += 2;
    expect(await send("a", "other")).toBe("response 2");
    expect(await count(engine)).toBe(2);
  });
});

test("an expired record that is still in the table does not block its key", async () => {
  await using engine = await testEngine("CREATE TABLE t (i INTEGER)");
  let clock = 1_000 * HOUR;
  const send = runner(
    engine,
    openIdempotentResponses(() => clock),
    { store: DATABASE },
  );
  expect(await send("a")).toBe("response 1");
  clock += 23.5 * HOUR;
  // Expired records are deleted now, and not again within the hour.
  await send("b");
  clock += 0.75 * HOUR;
  expect(await send("a")).toBe("response 3");
  expect(await send("a")).toBe("response 3");
});

test.each([
  ["back", -48],
  ["forward, by less than a day", 23],
])("a clock that is set %s lets no write run twice", async (_, hours) => {
  await using engine = await testEngine("CREATE TABLE t (i INTEGER)");
  let clock = 1_000 * HOUR;
  const now = (): number => clock;
  const send = runner(engine, openIdempotentResponses(now), { store: DATABASE });
  expect(await send("a")).toBe("response 1");
  clock += hours * HOUR;
  expect(await send("a")).toBe("response 1");
  expect(await send("b")).toBe("response 2");
  const restarted = runner(engine, openIdempotentResponses(now), { store: DATABASE });
  expect([await restarted("a"), await restarted("b")]).toEqual(["response 1", "response 2"]);
  expect(await count(engine)).toBe(2);
});

test("expired records are deleted from the database every hour, not only at startup", async () => {
  await using engine = await testEngine("CREATE TABLE t (i INTEGER)");
  let clock = 1_000 * HOUR;
  const send = runner(
    engine,
    openIdempotentResponses(() => clock),
    { store: DATABASE },
  );
  await send("a");
  await send("b");
  clock += 25 * HOUR;
  await send("c");
  expect(await count(engine, "eider_idempotency_keys")).toBe(1);
});

test("keys in the database survive a restart", async () => {
  await using engine = await testEngine("CREATE TABLE t (i INTEGER)");
  const now = (): number => 1_000 * HOUR;
  const first = runner(engine, openIdempotentResponses(now), { store: DATABASE });
  expect(await first("a")).toBe("response 1");
  const second = runner(engine, openIdempotentResponses(now), { store: DATABASE });
  expect(await second("a")).toBe("response 1");
  await expect(second("a", "other")).rejects.toMatchObject({ failure: { kind: "key-reused" } });
});

test("a record holds neither the key nor the request, only their hashes", async () => {
  await using engine = await testEngine("CREATE TABLE t (i INTEGER)");
  const send = runner(engine, openIdempotentResponses(Date.now), { store: DATABASE });
  await send("the-key-itself", "the request itself");
  const { columns, rows } = await engine.read({
    statements: "SELECT id, request, response FROM eider_idempotency_keys",
  });
  expect(columns).toEqual(["id", "request", "response"]);
  expect(rows).toEqual([
    [expect.stringMatching(/^[0-9a-f]{64}$/), expect.stringMatching(/^[0-9a-f]{64}$/), "response 1"],
  ]);
});

test("memory holds no requests, and at most 32 MiB of responses", async () => {
  await using engine = await testEngine("CREATE TABLE t (i INTEGER)");
  const responses = openIdempotentResponses(Date.now);
  const small = runner(engine, responses, { store: MEMORY });
  // Requests of 200 MiB in total evict no key.
  for (let key = 0; key < 200; key++) await small(`small ${key}`, "x".repeat(1024 * 1024));
  expect(await small("small 0", "x".repeat(1024 * 1024))).toBe("response 1");
  const large = runner(engine, responses, { store: MEMORY, filler: "x".repeat(1024 * 1024) });
  for (let key = 0; key < 40; key++) await large(`large ${key}`);
  expect(await count(engine)).toBe(240);
  // The newest are still stored, the oldest are not.
  await large("large 39");
  expect(await count(engine)).toBe(240);
  await large("large 0");
  expect(await count(engine)).toBe(241);
});
