import { expect, test } from "vitest";
import { runAtOnce, runInSlices, type Sliced, waitFor } from "./slices.ts";

/** Busy for a while at each step, as far as the clock goes. */
function* busy(steps: number, ms: number): Sliced<number> {
  for (let step = 0; step < steps; step++) {
    const end = performance.now() + ms;
    while (performance.now() < end);
    yield;
  }
  return steps;
}

test("short work is done at once", () => {
  expect(runAtOnce(busy(3, 0))).toBe(3);
});

test("others have their turn between slices, and many pieces of work take turns among themselves", async () => {
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  expect(await Promise.all(Array.from({ length: 10 }, () => runInSlices(busy(4, 5))))).toEqual(Array(10).fill(4));
  isDone = true;
  // Each of the 40 steps is longer than a slice: none shares its turn of the event loop with another.
  expect(turns).toBeGreaterThanOrEqual(40);
});

test("work may wait for a promise, and ends when that rejects", async () => {
  function* waiting(begin: () => Promise<number>): Sliced<number> {
    return (yield* waitFor(begin())) + 1;
  }
  expect(await runInSlices(waiting(async () => 1))).toBe(2);
  await expect(runInSlices(waiting(() => Promise.reject(new Error("no"))))).rejects.toThrow("no");
  expect(() => runAtOnce(waiting(async () => 1))).toThrow("yielded a promise");
});
