import { describe, expect, test } from "vitest";
import { type TestEngine, testEngine } from "../../test/suites/duckdb-engine.ts";
import { RequestFailure } from "../failure.ts";
import { type IdempotentAnswers, openIdempotentAnswers } from "./idempotency.ts";

const HOUR = 60 * 60 * 1000;
const signal = new AbortController().signal;

/** Each run adds a row to `t`, and answers how many there are. */
function runner(engine: TestEngine, answers: IdempotentAnswers) {
  let runs = 0;
  return (key: string, fingerprint = "same") =>
    answers.once(
      { scope: "POST /t", key, fingerprint },
      {
        signal,
        run: (record) =>
          engine.engine.write({
            connections: [],
            statements: [{ sql: "INSERT INTO t VALUES (1)", values: [] }],
            transaction: true,
            returnsData: false,
            signal,
            record,
          }),
        encode: async () => `answer ${++runs}`,
      },
    );
}

describe.each([false, true])("durable: %s", (durable) => {
  test("a key holds for 24 hours, and is free again then", async () => {
    await using engine = await testEngine("CREATE TABLE t (i INTEGER)");
    let clock = 1_000 * HOUR;
    const send = runner(engine, openIdempotentAnswers({ engine: engine.engine, durable, now: () => clock }));
    expect(await send("a")).toBe("answer 1");
    clock += 24 * HOUR - 1;
    expect(await send("a")).toBe("answer 1");
    await expect(send("a", "other")).rejects.toMatchObject({ failure: { kind: "key-reused" } });
    await expect(send("a", "other")).rejects.toBeInstanceOf(RequestFailure);
    clock += 2;
    expect(await send("a", "other")).toBe("answer 2");
    const { rows } = await engine.read({ statements: "SELECT count(*)::INTEGER FROM t" });
    expect(rows).toEqual([[2]]);
  });
});

test.each([
  ["back", -48],
  ["forward, by less than a day", 23],
])("a clock that is set %s lets no write run twice", async (_, hours) => {
  await using engine = await testEngine("CREATE TABLE t (i INTEGER)");
  let clock = 1_000 * HOUR;
  const now = (): number => clock;
  const send = runner(engine, openIdempotentAnswers({ engine: engine.engine, durable: true, now }));
  expect(await send("a")).toBe("answer 1");
  clock += hours * HOUR;
  expect(await send("a")).toBe("answer 1");
  expect(await send("b")).toBe("answer 2");
  const restarted = runner(engine, openIdempotentAnswers({ engine: engine.engine, durable: true, now }));
  expect([await restarted("a"), await restarted("b")]).toEqual(["answer 1", "answer 2"]);
  const { rows } = await engine.read({ statements: "SELECT count(*)::INTEGER FROM t" });
  expect(rows).toEqual([[2]]);
});

test("what is too old is cleared from the database every hour, not only at start", async () => {
  await using engine = await testEngine("CREATE TABLE t (i INTEGER)");
  let clock = 1_000 * HOUR;
  const send = runner(engine, openIdempotentAnswers({ engine: engine.engine, durable: true, now: () => clock }));
  await send("a");
  await send("b");
  clock += 25 * HOUR;
  await send("c");
  const { rows } = await engine.read({ statements: "SELECT key FROM eider_idempotency_keys" });
  expect(rows).toEqual([["c"]]);
});

test("keys in the database outlive what is in memory", async () => {
  await using engine = await testEngine("CREATE TABLE t (i INTEGER)");
  const now = (): number => 1_000 * HOUR;
  const first = runner(engine, openIdempotentAnswers({ engine: engine.engine, durable: true, now }));
  expect(await first("a")).toBe("answer 1");
  const second = runner(engine, openIdempotentAnswers({ engine: engine.engine, durable: true, now }));
  expect(await second("a")).toBe("answer 1");
  await expect(second("a", "other")).rejects.toMatchObject({ failure: { kind: "key-reused" } });
});
