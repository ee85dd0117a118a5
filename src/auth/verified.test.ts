import { expect, test } from "vitest";
import { keyOf, openFingerprint } from "./fingerprint.ts";
import { openExpiringCache } from "./verified.ts";

test("a fingerprint is the same for the same text, and another in another process", () => {
  const [one, other] = [openFingerprint(), openFingerprint()];
  expect(one("secret")).toEqual(one("secret"));
  expect(one("secret")).not.toEqual(one("Secret"));
  expect(one("secret")).not.toEqual(other("secret"));
  expect(keyOf(one("secret"))).toHaveLength(32);
});

test("remembered until its time, and no longer when the clock is set back", () => {
  let time = 1_000;
  const memory = openExpiringCache<string>({ maxBytes: 1_000, bytesOf: () => 0, now: () => time });
  const remember = (): void => memory.set("a", "value", 2_000);
  remember();
  time = 1_999;
  expect(memory.get("a")).toBe("value");
  time = 2_000;
  expect(memory.get("a")).toBeUndefined();
  time = 1_500;
  expect(memory.get("a")).toBeUndefined();
  remember();
  time = 1_499;
  expect(memory.get("a")).toBeUndefined();
});

test("no more than its bytes: the one that was used longest ago goes", () => {
  const memory = openExpiringCache<number>({ maxBytes: 500, bytesOf: () => 0, now: () => 0 });
  for (const [index, key] of ["a", "b", "a", "c"].entries()) memory.set(key, index, 1);
  expect(["a", "b", "c"].map((key) => memory.get(key))).toEqual([2, undefined, 3]);
  memory.clear();
  expect(memory.get("a")).toBeUndefined();
});
