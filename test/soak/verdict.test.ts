import { expect, test } from "vitest";
import { compareThirds, quantile, type Sample } from "./verdict.ts";

const LEVEL: Omit<Sample, "second"> = {
  rss: 200,
  heap: 40,
  descriptors: 50,
  threads: 90,
  answers: 300,
  p50: 5,
  p99: 40,
};

/** A run of so many seconds, a sample for each; `at` says what is different. */
function run(seconds: number, at: (second: number) => Partial<Sample>): readonly Sample[] {
  return Array.from({ length: seconds }, (_, second) => ({ ...LEVEL, second: second + 1, ...at(second) }));
}

const grown = (samples: readonly Sample[]): readonly string[] =>
  compareThirds(samples).flatMap(({ name, last, bound }) => (last > bound ? name : []));

test("a run that is level, with a start that is not and neighbours that disturb it now and then", () => {
  expect(grown(run(60, () => ({})))).toEqual([]);
  const disturbed = run(1_200, (second) => ({
    rss: second < 300 ? 100 + second / 3 : 200 + (second % 7),
    heap: 30 + (second % 20),
    ...(second % 5 === 0 ? { p50: 80, p99: 900 } : {}),
  }));
  expect(grown(disturbed)).toEqual([]);
});

test.each([
  ["rss", (second: number) => ({ rss: 200 + second / 8 })],
  ["heap", (second: number) => ({ heap: 40 + (second % 10) + second / 16 })],
  ["descriptors", (second: number) => ({ descriptors: 50 + Math.floor(second / 60) })],
  ["threads", (second: number) => ({ threads: 90 + Math.floor(second / 120) })],
  ["p50", (second: number) => ({ p50: 2 + (second / 300) ** 3 })],
  ["p99", (second: number) => ({ p99: 10 + (second / 100) ** 3 })],
] as const)("%s that grows all the time is found in twenty minutes", (name, at) => {
  expect(grown(run(1_200, at))).toEqual([name]);
});

test("quantiles", () => {
  expect([quantile([3, 1, 2], 0.5), quantile([1, 2, 3, 4], 0.25), quantile([5], 0.99)]).toEqual([2, 2, 5]);
});
