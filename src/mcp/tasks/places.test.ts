import { expect, test } from "vitest";
import { openPlaces } from "./places.ts";

const limits = { workers: 2, queueDepth: 6 };
const MIB = 1024 * 1024;

test("a client leaves a quarter of all places to others", () => {
  const places = openPlaces();
  const origin = (client: string) => ({ client, bytes: 0 });
  const waits = Array.from({ length: 8 }, () => places.wait(origin("ann"), limits));
  expect(waits.map((wait) => wait !== undefined)).toEqual([true, true, true, true, true, true, false, false]);
  expect(places.join(origin("ann"), limits)).toBe(false);
  expect([places.join(origin("bob"), limits), places.join(origin("eve"), limits)]).toEqual([true, true]);
  expect(places.join(origin("dan"), limits)).toBe(false);
  // A task that gives up waiting makes room, and so does one that is done.
  expect([waits[5]?.giveUp(), waits[5]?.giveUp()]).toEqual([true, false]);
  expect(places.join(origin("ann"), limits)).toBe(true);
  places.leave(origin("bob"));
  expect(places.join(origin("ann"), limits)).toBe(false);
  expect(places.join(origin("bob"), limits)).toBe(true);
});

test("messages of tasks take 64 MiB, and 48 MiB of one client", () => {
  const places = openPlaces();
  const large = (client: string) => ({ client, bytes: 24 * MIB });
  const join = (client: string): boolean => places.join(large(client), limits);
  expect([join("ann"), join("ann"), join("ann"), join("bob")]).toEqual([true, true, false, false]);
  places.leave(large("ann"));
  expect([join("bob"), join("ann")]).toEqual([true, false]);
  expect(places.join({ client: "eve", bytes: 100 * MIB }, limits)).toBe(false);
});
