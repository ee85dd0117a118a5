import { expect, test } from "vitest";
import { openFailedAttempts } from "./failed-attempts.ts";

test("so many within the window and no more, each address for itself", () => {
  let time = 0;
  const attempts = openFailedAttempts({ now: () => time, max: 3, windowMs: 60_000 });
  attempts.failed("a");
  time = 20_500;
  attempts.failed("a");
  expect(attempts.blockedFor("a")).toBeUndefined();
  attempts.failed("a");
  expect([attempts.blockedFor("a"), attempts.blockedFor("b")]).toEqual([40, undefined]);
  time = 59_999;
  expect(attempts.blockedFor("a")).toBe(1);
  time = 60_000;
  expect(attempts.blockedFor("a")).toBeUndefined();
  attempts.failed("a");
  expect(attempts.blockedFor("a")).toBeUndefined();
});

test("the limits that nobody gave: 100 in a minute", () => {
  const attempts = openFailedAttempts({ now: () => 0 });
  for (let count = 0; count < 99; count++) attempts.failed("a");
  expect(attempts.blockedFor("a")).toBeUndefined();
  attempts.failed("a");
  expect(attempts.blockedFor("a")).toBe(60);
});

test("a clock that is set back locks nobody out", () => {
  let time = 1_000_000;
  const attempts = openFailedAttempts({ now: () => time, max: 1 });
  attempts.failed("a");
  expect(attempts.blockedFor("a")).toBe(60);
  time = 0;
  expect(attempts.blockedFor("a")).toBeUndefined();
});

test("no more addresses than it may keep: the oldest goes", () => {
  const attempts = openFailedAttempts({ now: () => 0, max: 1, maxAddresses: 2 });
  for (const address of ["a", "b", "c"]) attempts.failed(address);
  expect(["a", "b", "c"].map((address) => attempts.blockedFor(address))).toEqual([undefined, 60, 60]);
});
