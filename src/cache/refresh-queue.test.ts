import { expect, test } from "vitest";
import { runPendingWork } from "../../test/turned-clock.ts";
import { type Job, openRefreshQueue } from "./refresh-queue.ts";

/** Jobs that end when they are told to, or stopped. */
function jobs() {
  const begun: string[] = [];
  const stopped: string[] = [];
  const ends = new Map<string, () => void>();
  const job = (name: string): Job => ({
    start() {
      begun.push(name);
      return new Promise((resolve) => ends.set(name, resolve));
    },
    stop() {
      stopped.push(name);
      ends.get(name)?.();
    },
  });
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await runPendingWork();
  };
  return { begun, stopped, job, end };
}

test("so many run at once, and those that callers wait for come first", async () => {
  const { begun, job, end } = jobs();
  const queue = openRefreshQueue(2);
  for (let index = 0; index < 1_000; index++) queue.add(job(`b${index}`), "background");
  queue.add(job("r0"), "read");
  queue.add(job("r1"), "read");
  expect(begun).toEqual(["b0", "b1"]);
  await end("b0");
  expect(begun).toEqual(["b0", "b1", "r0"]);
  await end("r0");
  await end("b1");
  expect(begun).toEqual(["b0", "b1", "r0", "r1", "b2"]);
});

test("what a call runs itself does not wait, and takes no slot", async () => {
  const { begun, job, end } = jobs();
  const queue = openRefreshQueue(1);
  queue.add(job("b0"), "background");
  queue.add(job("c0"), "call");
  queue.add(job("b1"), "background");
  await end("c0");
  expect(begun).toEqual(["b0", "c0"]);
  await end("b0");
  expect(begun).toEqual(["b0", "c0", "b1"]);
});

test("a job that a caller waits for now moves forward, once", async () => {
  const { begun, job, end } = jobs();
  const queue = openRefreshQueue(1);
  const [late, later] = [job("late"), job("later")];
  queue.add(job("running"), "background");
  queue.add(job("other"), "background");
  queue.add(late, "background");
  queue.add(later, "background");
  queue.prioritize(late, "background");
  queue.prioritize(late, "read");
  queue.prioritize(later, "read");
  queue.prioritize(later, "call");
  queue.prioritize(later, "call");
  expect(begun).toEqual(["running", "later"]);
  await end("running");
  await end("late");
  await end("other");
  expect(begun).toEqual(["running", "later", "late", "other"]);
});

test("closing stops what runs and what waits, and lets nothing in", async () => {
  const { begun, stopped, job } = jobs();
  const queue = openRefreshQueue(1);
  queue.add(job("running"), "read");
  queue.add(job("call"), "call");
  queue.add(job("read"), "read");
  queue.add(job("background"), "background");
  await queue.close();
  queue.add(job("new"), "call");
  await runPendingWork();
  expect(begun).toEqual(["running", "call"]);
  expect(stopped.toSorted()).toEqual(["background", "call", "new", "read", "running"]);
});
