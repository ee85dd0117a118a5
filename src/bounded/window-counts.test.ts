import { expect, test } from "vitest";
import { openWindowCounts } from "./window-counts.ts";

const MINUTE = { max: 3, windowMs: 60_000 };
const SECOND = { max: 3, windowMs: 1_000 };

function opened(maxKeys: number) {
  const clock = { time: 0 };
  const counts = openWindowCounts({ now: () => clock.time, maxKeys });
  const consumed = (key: string, points = 1, limit = MINUTE): number => counts.count(key, points, limit).consumed;
  const block = (key: string, limit = MINUTE): number => consumed(key, limit.max, limit);
  return { clock, counts, consumed, block };
}

test("windows vanish when they end, short ones before long ones", () => {
  const { clock, counts, consumed } = opened(100);
  for (let index = 0; index < 10; index++) consumed(`long ${index}`);
  for (let index = 0; index < 50; index++) consumed(`short ${index}`, 1, SECOND);
  expect(counts.size()).toBe(60);
  clock.time = 1_000;
  consumed("another");
  expect(counts.size()).toBe(11);
  clock.time = 61_000;
  expect(consumed("another")).toBe(1);
  expect(counts.size()).toBe(1);
});

test("when there are too many, those go that end first, and no others", () => {
  const { clock, counts, consumed } = opened(3);
  consumed("oldest");
  clock.time = 1;
  consumed("soonest", 1, SECOND);
  clock.time = 2;
  consumed("youngest");
  consumed("new");
  expect(counts.size()).toBe(3);
  expect(["youngest", "oldest", "new"].map((key) => consumed(key))).toEqual([2, 2, 2]);
  expect(consumed("soonest", 1, SECOND)).toBe(1);
  expect(counts.size()).toBe(3);
  counts.clear();
  expect(counts.size()).toBe(0);
});

test("a flood of others never frees a key that is blocked; it is free when its window ends", () => {
  const { clock, counts, consumed, block } = opened(1_000);
  block("blocked");
  block("blocked for a second", SECOND);
  for (let index = 0; index < 100_000; index++) consumed(`${index}`);
  expect(counts.size()).toBe(1_000);
  expect([consumed("blocked"), consumed("blocked for a second", 1, SECOND)]).toEqual([4, 4]);
  clock.time = 1_000;
  expect([consumed("blocked"), consumed("blocked for a second", 1, SECOND)]).toEqual([5, 1]);
  clock.time = 60_000;
  expect(consumed("blocked")).toBe(1);
});

test("when all are blocked, new keys share one window, and get their own when there is room", () => {
  const { clock, counts, consumed, block } = opened(3);
  for (const key of ["a", "b"]) block(key);
  clock.time = 10_000;
  block("c");
  expect([consumed("d"), consumed("e"), consumed("f", 0), consumed("f")]).toEqual([1, 2, 2, 3]);
  expect(counts.count("g", 0, MINUTE)).toEqual({ consumed: 3, endsInMs: 60_000 });
  expect(counts.size()).toBe(3);
  clock.time = 60_000;
  expect([consumed("d"), consumed("e"), consumed("c")]).toEqual([1, 1, 4]);
});

test("a key whose limit was raised is not blocked any more, and may go", () => {
  const { consumed, block } = opened(2);
  block("raised");
  block("blocked");
  expect(consumed("new")).toBe(1);
  expect(consumed("raised", 1, { ...MINUTE, max: 100 })).toBe(4);
  expect([consumed("newer"), consumed("blocked")]).toEqual([1, 4]);
  expect(consumed("raised", 0, { ...MINUTE, max: 100 })).toBe(0);
});

test("a look keeps nothing", () => {
  const { counts, consumed } = opened(2);
  consumed("a");
  consumed("b");
  for (let index = 0; index < 10; index++) expect(consumed(`${index}`, 0)).toBe(0);
  expect([consumed("a"), consumed("b"), counts.size()]).toEqual([2, 2, 2]);
});
