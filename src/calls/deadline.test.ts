import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openDeadline } from "./deadline.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const timeout = { failure: { kind: "query-timeout" } };

test("time in the database counts, in pieces too; waiting between them does not", async () => {
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

test("work that does not end although the call has been ended is waited for only for a moment", async () => {
  const deadline = openDeadline(100);
  let settled = 0;
  const stuck = deadline.spend(() => pause(60_000));
  stuck.catch(() => settled++);
  await vi.advanceTimersByTimeAsync(150);
  expect(deadline.signal.aborted).toBe(true);
  // What heeds the interrupt has its say.
  expect(await settledAfter(deadline.abandonIfStuck(pause(300).then(() => "heeded")), 300)).toBe("heeded");
  expect(settled).toBe(0);
  await vi.advanceTimersByTimeAsync(1_000);
  await expect(stuck).rejects.toMatchObject(timeout);
  deadline.close();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(vi.getTimerCount()).toBe(0);
});

test("a change is waited for to its end, whenever the call was ended", async () => {
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

test("the first reason counts, and listeners hear it once", () => {
  const deadline = openDeadline(100);
  const heard = vi.fn();
  const gone = vi.fn();
  deadline.signal.addEventListener("abort", heard);
  deadline.signal.addEventListener("abort", gone);
  deadline.signal.removeEventListener("abort", gone);
  deadline.cancel({ kind: "cancelled" });
  deadline.cancel({ kind: "draining" });
  expect(deadline.signal.reason).toMatchObject({ failure: { kind: "cancelled" } });
  expect(heard).toHaveBeenCalledTimes(1);
  expect(gone).not.toHaveBeenCalled();
});

test("a closed deadline leaves no timer", async () => {
  const deadline = openDeadline(100);
  await deadline.spend(async () => {});
  deadline.close();
  expect(vi.getTimerCount()).toBe(0);
});
