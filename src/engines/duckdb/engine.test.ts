import { expect, test } from "vitest";
import { openDuckDb } from "./open-duckdb.ts";

test("smoke", async () => {
  const engine = await openDuckDb({
    path: undefined,
    settings: new Map(),
    connections: [
      { name: "m", init: "create table t as select range::bigint id, 'n'||range as name from range(250)", secrets: [] },
    ],
    maxConcurrentQueries: 4,
    maxQueued: 10,
  });
  const statements = [{ sql: "select * from t where id >= $1", values: [{ type: "BIGINT" as const, value: 0n }] }];
  for (const [limit, offset] of [
    [100, 0],
    [100, 200],
    [100, 0],
    [100, 300],
    [0, 0],
    [250, 0],
    [300, 0],
    [30000, 100],
  ] as const) {
    const rows = await engine.read({
      connections: ["m"],
      statements,
      window: { limit, offset },
      totalOf: statements,
      signal: new AbortController().signal,
    });
    let n = 0;
    for (;;) {
      const c = await rows.next();
      if (!c) break;
      n += c.rows;
    }
    console.log(limit, offset, n, rows.total, engine.activity());
  }
  console.log(
    await engine.plan([{ sql: "select nosuch from t", values: [] }]),
    await engine.parse("select * frm t t t"),
  );
  await engine.close();
  expect(1).toBe(1);
});
