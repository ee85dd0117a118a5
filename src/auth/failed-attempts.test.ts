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

test("a clock that is set back locks nobody out for longer than a window", () => {
  let time = 1_000_000;
  const attempts = openFailedAttempts({ now: () => time, max: 1 });
  attempts.failed("a");
  expect(attempts.blockedFor("a")).toBe(60);
  time = 0;
  expect(attempts.blockedFor("a")).toBe(60);
  time = 60_000;
  expect(attempts.blockedFor("a")).toBeUndefined();
});

test("an address that is blocked stays blocked, however many others fail", () => {
  const attempts = openFailedAttempts({ now: () => 0, max: 2, maxAddresses: 10 });
  for (let count = 0; count < 2; count++) attempts.failed("10.0.0.1");
  for (let other = 0; other < 1_000; other++) attempts.failed(`10.0.1.${other}`);
  expect(attempts.blockedFor("10.0.0.1")).toBe(60);
  expect(attempts.blockedFor("10.0.1.999")).toBeUndefined();
});

test("one who has all addresses of an IPv6 network is one client", () => {
  const attempts = openFailedAttempts({ now: () => 0, max: 3 });
  for (let host = 1; host <= 3; host++) attempts.failed(`2001:db8::${host}`);
  expect([attempts.blockedFor("2001:db8::4"), attempts.blockedFor("2001:db8:0:1::4")]).toEqual([60, undefined]);
});
