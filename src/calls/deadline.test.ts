import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openDeadline } from "./deadline.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const timeout = { failure: { kind: "query-timeout" } };

test("time in the database adds up; waiting in between does not count", async () => {
  const deadline = openDeadline(100);
  for (let piece = 0; piece < 3; piece++) {
    const work = deadline.spend(() => pause(30));
    await vi.advanceTimersByTimeAsync(30);
    await work;
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect(deadline.signal.aborted).toBe(false);
  const last = deadline.spend(() => pause(30));
  await vi.advanceTimersByTimeAsync(9);
  expect(deadline.signal.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(2);
  expect(deadline.signal.reason).toMatchObject(timeout);
  await vi.advanceTimersByTimeAsync(30);
  await last;
});

test("work that continues after a cancel is abandoned after a second", async () => {
  const deadline = openDeadline(100);
  let settled = 0;
  const stuck = deadline.spend(() => pause(60_000));
  stuck.catch(() => settled++);
  await vi.advanceTimersByTimeAsync(150);
  expect(deadline.signal.aborted).toBe(true);
  // Work that stops in time returns its result.
  expect(await settledAfter(deadline.abandonIfStuck(pause(300).then(() => "stopped")), 300)).toBe("stopped");
  expect(settled).toBe(0);
  await vi.advanceTimersByTimeAsync(1_000);
  await expect(stuck).rejects.toMatchObject(timeout);
  deadline.close();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(vi.getTimerCount()).toBe(0);
});

test("a write is awaited until it settles, even after a cancel", async () => {
  const deadline = openDeadline(100);
  const change = deadline.spendUntilSettled(() => pause(5_000).then(() => "committed"));
  await vi.advanceTimersByTimeAsync(4_000);
  expect(deadline.signal.aborted).toBe(true);
  expect(await settledAfter(change, 1_000)).toBe("committed");
  deadline.close();
});

async function settledAfter<T>(work: Promise<T>, ms: number): Promise<T> {
  await vi.advanceTimersByTimeAsync(ms);
  return work;
}

test("the first reason counts, and listeners are called once", () => {
  const deadline = openDeadline(100);
  const onAbort = vi.fn();
  const removed = vi.fn();
  deadline.signal.addEventListener("abort", onAbort);
  deadline.signal.addEventListener("abort", removed);
  deadline.signal.removeEventListener("abort", removed);
  deadline.cancel({ kind: "cancelled" });
  deadline.cancel({ kind: "draining" });
  expect(deadline.signal.reason).toMatchObject({ failure: { kind: "cancelled" } });
  expect(onAbort).toHaveBeenCalledTimes(1);
  expect(removed).not.toHaveBeenCalled();
});

test("a closed deadline leaves no timer", async () => {
  const deadline = openDeadline(100);
  await deadline.spend(async () => {});
  deadline.close();
  expect(vi.getTimerCount()).toBe(0);
});
