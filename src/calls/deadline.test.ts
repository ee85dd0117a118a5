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
