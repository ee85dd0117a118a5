import { expect, test } from "vitest";
import { queryLimits } from "./query-limits.ts";

test.each([
  [undefined, 9, 16],
  [0.5, 2, 4],
  [1, 2, 4],
  [2, 3, 8],
  [3.5, 5, 16],
  [8, 9, 16],
  [16, 17, 32],
  [100, 64, 64],
])("%s cores: %s local queries of %s", (cores, maxLocalQueries, maxConcurrentQueries) => {
  expect(queryLimits(undefined, cores)).toEqual({ maxLocalQueries, maxConcurrentQueries });
});

test("a configured number holds for all queries, on any machine", () => {
  for (const cores of [undefined, 1, 64]) {
    expect(queryLimits(5, cores)).toEqual({ maxLocalQueries: 5, maxConcurrentQueries: 5 });
  }
});
