import { expect, test } from "vitest";
import type { AuthenticationResult } from "../authenticator.ts";
import { anonymous, identityOf } from "../identity.ts";
import { type AcceptedToken, openTokenCache } from "./token-cache.ts";

const MINUTES = 60_000;
const answer: AuthenticationResult = { kind: "identity", identity: anonymous };
const accepted = (changes: Partial<AcceptedToken> = {}): AcceptedToken => ({
  result: answer,
  until: Number.POSITIVE_INFINITY,
  isCurrent: () => true,
  ...changes,
});

test("tokens take 16 MiB, whatever they say; then the one that was used longest ago goes", () => {
  const remembered = openTokenCache(() => 0);
  const identity = identityOf({ type: "oidc", username: "ann", roles: ["r".repeat(16_000)] });
  const large: AuthenticationResult = { kind: "identity", identity };
  const isKept = (n: number): boolean => remembered.get(String(n)) !== undefined;
  for (let n = 0; n < 200; n++) remembered.set(String(n), accepted({ result: large }));
  expect(isKept(0)).toBe(true);
  for (let n = 200; n < 400; n++) remembered.set(String(n), accepted({ result: large }));
  expect([isKept(0), isKept(1), isKept(399)]).toEqual([true, false, true]);
});

test.each<[string, Partial<AcceptedToken>, number, boolean]>([
  ["at once", {}, 0, true],
  ["just before five minutes", {}, 5 * MINUTES - 1, true],
  ["after five minutes", {}, 5 * MINUTES, false],
  ["just before its end", { until: 1_000 }, 999, true],
  ["at its end", { until: 1_000 }, 1_000, false],
  ["when the clock was set back", {}, -1, false],
  ["when its key is gone", { isCurrent: () => false }, 0, false],
])("%s", (_, changes, time, found) => {
  let now = 0;
  const remembered = openTokenCache(() => now);
  remembered.set("token", accepted(changes));
  now = time;
  expect(remembered.get("token")).toBe(found ? answer : undefined);
  // What is forgotten does not come back with the clock.
  now = 0;
  expect(remembered.get("token") === undefined).toBe(!found);
});

test("names tell nothing of tokens, and are others in every process", () => {
  const [one, other] = [openTokenCache(Date.now), openTokenCache(Date.now)];
  expect(one.keyOf("token")).toBe(one.keyOf("token"));
  expect(one.keyOf("token")).not.toBe(one.keyOf("token2"));
  expect(one.keyOf("token")).not.toBe(other.keyOf("token"));
});
