import { expect, test } from "vitest";
import { openDuckDb } from "../open-duckdb.ts";
import { bytesOf } from "./memory-use.ts";

test.each([
  ["512 bytes", 512],
  ["1.5 KiB", 1_536],
  ["953.6 MiB", 999_922_074],
  ["12.4 GiB", 13_314_398_618],
])("%s", (text, bytes) => {
  expect(bytesOf(text)).toBe(bytes);
});

test("a database tells what it holds, and its limit", async () => {
  const engine = await openDuckDb({
    path: undefined,
    settings: new Map([["max_memory", "100MB"]]),
    connections: [],
    maxConcurrentQueries: 1,
    maxQueued: undefined,
  });
  try {
    const { used, spilled, limit } = await engine.memory();
    expect(used).toBeGreaterThanOrEqual(0);
    expect(spilled).toBe(0);
    expect(Math.round(limit / 1e6)).toBe(100);
  } finally {
    await engine.close();
  }
});
