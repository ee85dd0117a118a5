import { expect, test } from "vitest";
import type { Authenticated } from "../authenticator.ts";
import { anonymous, identityOf } from "../identity.ts";
import { type Accepted, openRemembered } from "./remembered.ts";

const MINUTES = 60_000;
const answer: Authenticated = { kind: "identity", identity: anonymous };
const accepted = (changes: Partial<Accepted> = {}): Accepted => ({
  answer,
  until: Number.POSITIVE_INFINITY,
  isCurrent: () => true,
  ...changes,
});

test("tokens take 16 MiB, whatever they say; then the one that was used longest ago goes", () => {
  const remembered = openRemembered(() => 0);
  const identity = identityOf({ type: "oidc", username: "ann", roles: ["r".repeat(16_000)] });
  const large: Authenticated = { kind: "identity", identity };
  const isKept = (n: number): boolean => remembered.find(String(n)) !== undefined;
  for (let n = 0; n < 200; n++) remembered.keep(String(n), accepted({ answer: large }));
  expect(isKept(0)).toBe(true);
  for (let n = 200; n < 400; n++) remembered.keep(String(n), accepted({ answer: large }));
  expect([isKept(0), isKept(1), isKept(399)]).toEqual([true, false, true]);
});

test.each<[string, Partial<Accepted>, number, boolean]>([
  ["at once", {}, 0, true],
  ["just before five minutes", {}, 5 * MINUTES - 1, true],
  ["after five minutes", {}, 5 * MINUTES, false],
  ["just before its end", { until: 1_000 }, 999, true],
  ["at its end", { until: 1_000 }, 1_000, false],
  ["when the clock was set back", {}, -1, false],
  ["when its key is gone", { isCurrent: () => false }, 0, false],
])("%s", (_, changes, time, found) => {
  let now = 0;
  const remembered = openRemembered(() => now);
  remembered.keep("token", accepted(changes));
  now = time;
  expect(remembered.find("token")).toBe(found ? answer : undefined);
  // What is forgotten does not come back with the clock.
  now = 0;
  expect(remembered.find("token") === undefined).toBe(!found);
});

test("names tell nothing of tokens, and are others in every process", () => {
  const [one, other] = [openRemembered(Date.now), openRemembered(Date.now)];
  expect(one.nameOf("token")).toBe(one.nameOf("token"));
  expect(one.nameOf("token")).not.toBe(one.nameOf("token2"));
  expect(one.nameOf("token")).not.toBe(other.nameOf("token"));
});
