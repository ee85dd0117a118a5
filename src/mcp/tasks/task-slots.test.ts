import { expect, test } from "vitest";
import { openTaskSlots } from "./task-slots.ts";

const limits = { workers: 2, queueDepth: 6 };
const MIB = 1024 * 1024;

test("one client can take three quarters of all slots", () => {
  const slots = openTaskSlots();
  const origin = (client: string) => ({ client, bytes: 0 });
  const waits = Array.from({ length: 8 }, () => slots.enqueue(origin("ann"), limits));
  expect(waits.map((wait) => wait !== undefined)).toEqual([true, true, true, true, true, true, false, false]);
  expect(slots.acquire(origin("ann"), limits)).toBe(false);
  expect([slots.acquire(origin("bob"), limits), slots.acquire(origin("eve"), limits)]).toEqual([true, true]);
  expect(slots.acquire(origin("dan"), limits)).toBe(false);
  // A task that leaves the queue makes room, and so does a finished one.
  expect([waits[5]?.leaveQueue(), waits[5]?.leaveQueue()]).toEqual([true, false]);
  expect(slots.acquire(origin("ann"), limits)).toBe(true);
  slots.release(origin("bob"));
  expect(slots.acquire(origin("ann"), limits)).toBe(false);
  expect(slots.acquire(origin("bob"), limits)).toBe(true);
});

test("messages of tasks can take 64 MiB, and 48 MiB per client", () => {
  const slots = openTaskSlots();
  const large = (client: string) => ({ client, bytes: 24 * MIB });
  const join = (client: string): boolean => slots.acquire(large(client), limits);
  expect([join("ann"), join("ann"), join("ann"), join("bob")]).toEqual([true, true, false, false]);
  slots.release(large("ann"));
  expect([join("bob"), join("ann")]).toEqual([true, false]);
  expect(slots.acquire({ client: "eve", bytes: 100 * MIB }, limits)).toBe(false);
});
