import { describe, expect, test, vi } from "vitest";
import { cancellationOf } from "../../queue/cancellation.ts";
import { type LockUse, openReadWriteLock } from "./read-write-lock.ts";

function lockWith({ patienceMs = 60_000, maxWaiting = 10 } = {}) {
  const lock = openReadWriteLock({ patienceMs, maxWaiting });
  const inside: string[] = [];
  const leaves = new Map<string, () => void>();
  const aborts = new Map<string, AbortController>();
  async function enter(name: string, use: LockUse): Promise<void> {
    const abort = new AbortController();
    aborts.set(name, abort);
    const leave = await lock.enter(use, cancellationOf(abort.signal));
    inside.push(name);
    leaves.set(name, () => {
      inside.splice(inside.indexOf(name), 1);
      leave();
    });
  }
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return {
    inside,
    /** Lets it enter or wait. */
    async arrive(name: string, use: LockUse): Promise<void> {
      enter(name, use).catch(() => inside.push(`${name} gave up`));
      await settled();
    },
    async leave(name: string): Promise<void> {
      leaves.get(name)?.();
      await settled();
    },
    async abort(name: string): Promise<void> {
      aborts.get(name)?.abort();
      await settled();
    },
    settled,
  };
}

describe("a lock for readers and writers", () => {
  test("readers enter together, a writer alone", async () => {
    const { inside, arrive, leave } = lockWith();
    await arrive("r1", "read");
    await arrive("r2", "read");
    await arrive("w1", "write");
    await arrive("w2", "write");
    expect(inside).toEqual(["r1", "r2"]);
    await leave("r1");
    expect(inside).toEqual(["r2"]);
    await leave("r2");
    expect(inside).toEqual(["w1"]);
    await arrive("r3", "read");
    expect(inside).toEqual(["w1"]);
    await leave("w1");
    expect(inside).toEqual(["w2"]);
    await leave("w2");
    expect(inside).toEqual(["r3"]);
  });

  test("leaving twice counts once", async () => {
    const lock = openReadWriteLock({ patienceMs: 60_000, maxWaiting: 10 });
    const cancellation = cancellationOf(new AbortController().signal);
    const first = await lock.enter("read", cancellation);
    const second = await lock.enter("read", cancellation);
    first();
    first();
    const writer = lock.enter("write", cancellation);
    expect(writer).toBeInstanceOf(Promise);
    second();
    expect(await writer).toBeInstanceOf(Function);
  });

  test("a writer that gives up lets in those that waited behind it", async () => {
    const { inside, arrive, abort } = lockWith();
    await arrive("r1", "read");
    await arrive("w1", "write");
    await arrive("r2", "read");
    expect(inside).toEqual(["r1"]);
    await abort("w1");
    expect(inside).toEqual(["r1", "r2", "w1 gave up"]);
  });

  test("readers pass a writer that has waited long, and it still gets its turn", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const { inside, arrive, leave, settled } = lockWith({ patienceMs: 5_000 });
      await arrive("slow", "read");
      await arrive("w1", "write");
      await arrive("r1", "read");
      vi.advanceTimersByTime(4_999);
      await settled();
      expect(inside).toEqual(["slow"]);
      vi.advanceTimersByTime(1);
      await settled();
      expect(inside).toEqual(["slow", "r1"]);
      await arrive("r2", "read");
      expect(inside).toEqual(["slow", "r1", "r2"]);
      for (const reader of ["slow", "r1", "r2"]) await leave(reader);
      expect(inside).toEqual(["w1"]);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  test("only so many may wait", async () => {
    const { inside, arrive } = lockWith({ maxWaiting: 1 });
    await arrive("w1", "write");
    await arrive("r1", "read");
    await arrive("r2", "read");
    expect(inside).toEqual(["w1", "r2 gave up"]);
  });
});
