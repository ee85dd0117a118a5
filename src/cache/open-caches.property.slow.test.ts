import fc from "fast-check";
import { expect, test } from "vitest";
import { nameOf, RESULTS, type TestCaches, tableCache, testCaches } from "../../test/test-caches.ts";
import { runPendingWork } from "../../test/turned-clock.ts";
import { RequestFailure } from "../failure.ts";
import type { Lease } from "./caches.ts";

const MINUTE = 60_000;
const KIB = 1024;
const MAX_BYTES = 6 * KIB;
const TABLES = ["scheduled", "plain", "kept"] as const;
const KEYS = ["a", "b", "c", "d", "e", "f"] as const;

const definitions = [
  tableCache("scheduled", { scheduleMs: MINUTE }),
  tableCache("plain"),
  tableCache("kept", { scheduleMs: 10 * MINUTE, retention: { keepLast: 3, maxAgeMs: 5 * MINUTE } }),
];

/** What is read: a table, or a result by its key. */
type Place = (typeof TABLES)[number] | (typeof KEYS)[number];
const isTable = (place: Place): boolean => TABLES.some((table) => table === place);
/** Whose writes a place shows. */
const sourceOf = (place: Place): string => (isTable(place) ? place : RESULTS.table);

type Step =
  | { readonly kind: "acquire"; readonly place: Place; readonly refresh: boolean }
  | { readonly kind: "release" | "leave"; readonly pick: number }
  | { readonly kind: "write"; readonly place: Place; readonly how: "silently" | "invalidate" | "refreshAfterWrite" }
  | { readonly kind: "refresh"; readonly table: (typeof TABLES)[number] }
  | { readonly kind: "fails"; readonly fails: boolean }
  | { readonly kind: "keeps"; readonly keeps: boolean }
  | { readonly kind: "takes" | "weighs" | "advance" | "set"; readonly amount: number }
  | { readonly kind: "collect" };

const place = fc.constantFrom(...TABLES, ...KEYS);
const often = (weight: number, arbitrary: fc.Arbitrary<Step>) => ({ weight, arbitrary });
const step: fc.Arbitrary<Step> = fc.oneof(
  often(
    12,
    fc.record({ kind: fc.constant("acquire"), place, refresh: fc.integer({ min: 0, max: 5 }).map((n) => n === 0) }),
  ),
  often(8, fc.record({ kind: fc.constantFrom("release", "leave"), pick: fc.nat() })),
  often(
    6,
    fc.record({
      kind: fc.constant("write"),
      place,
      how: fc.constantFrom("silently", "invalidate", "refreshAfterWrite"),
    }),
  ),
  often(2, fc.record({ kind: fc.constant("refresh"), table: fc.constantFrom(...TABLES) })),
  often(2, fc.record({ kind: fc.constant("fails"), fails: fc.boolean() })),
  often(1, fc.record({ kind: fc.constant("keeps"), keeps: fc.boolean() })),
  often(3, fc.record({ kind: fc.constant("takes"), amount: fc.constantFrom(0, 10, 1_000, 1_000, 90_000) })),
  often(2, fc.record({ kind: fc.constant("weighs"), amount: fc.constantFrom(0, KIB, 2 * KIB, 5 * KIB, 7 * KIB) })),
  often(
    10,
    fc.record({ kind: fc.constant("advance"), amount: fc.constantFrom(0, 5, 5, 500, 500, 5_000, MINUTE, 20 * MINUTE) }),
  ),
  often(1, fc.record({ kind: fc.constant("set"), amount: fc.integer({ min: -3_600_000, max: 3_600_000 }) })),
  often(1, fc.record({ kind: fc.constant("collect") })),
);

/** Runs steps and watches over everything that must hold at any time. */
function run(test: TestCaches) {
  const { caches, store, clock, table, result } = test;
  const leases = new Map<Lease, Place>();
  const waiting = new Set<() => void>();
  const written = new Map<string, number>();
  const announced = new Map<string, number>();
  const unfinished: Promise<unknown>[] = [];
  let failedAt = -1;
  let steps = 0;
  let isFailing = false;

  const acquired = (where: Place, signal: AbortSignal, refresh: boolean): Promise<Lease> =>
    isTable(where) ? table(where, { signal, refresh }) : result(where, { signal, refresh, scheduleMs: 2 * MINUTE });

  async function acquire(where: Place, refresh: boolean): Promise<void> {
    const controller = new AbortController();
    const leave = (): void => controller.abort(new RequestFailure({ kind: "cancelled" }));
    const from = steps;
    const least = (refresh ? written : announced).get(sourceOf(where)) ?? 0;
    waiting.add(leave);
    try {
      const lease = await acquired(where, controller.signal, refresh);
      leases.set(lease, where);
      expect(store.isThere(lease.snapshot)).toBe(true);
      // Older rows than it must see: only when a refresh failed.
      if (lease.snapshot.rows < least) expect([lease.state, failedAt >= from]).toEqual(["stale", true]);
      if (refresh) expect(lease.state).not.toBe("hit");
    } catch (error) {
      if (!(error instanceof RequestFailure)) throw error;
      expect(["cancelled", "query-failed"]).toContain(error.failure.kind);
      if (error.failure.kind === "query-failed") expect(failedAt).toBeGreaterThanOrEqual(from);
    } finally {
      waiting.delete(leave);
    }
  }

  function pick<T>(items: Iterable<T>, number: number): T | undefined {
    const all = [...items];
    return all[number % all.length];
  }

  async function take(each: Step): Promise<void> {
    switch (each.kind) {
      case "acquire":
        unfinished.push(acquire(each.place, each.refresh));
        return;
      case "release": {
        const lease = pick(leases.keys(), each.pick);
        if (lease === undefined) return;
        leases.delete(lease);
        lease.release();
        return;
      }
      case "leave":
        pick(waiting, each.pick)?.();
        return;
      case "write": {
        const source = sourceOf(each.place);
        const count = store.write(source);
        written.set(source, count);
        if (each.how === "silently") return;
        const announce = (): void => {
          announced.set(source, Math.max(count, announced.get(source) ?? 0));
        };
        if (each.how === "invalidate") {
          caches.invalidate(nameOf(source));
          announce();
        }
        // Until its own refresh is over no read needs to see the write: its client has had no response yet.
        else unfinished.push(caches.refreshAfterWrite(nameOf(source)).then(announce));
        return;
      }
      case "refresh": {
        const refreshed = caches.refresh(nameOf(each.table), new AbortController().signal);
        unfinished.push(refreshed.catch((error: unknown) => expect(error).toBeInstanceOf(RequestFailure)));
        return;
      }
      case "fails":
        isFailing = each.fails;
        store.setFailure(isFailing ? { kind: "query-failed", message: "down" } : undefined);
        return;
      case "keeps":
        store.setUndroppable(each.keeps ? pick(store.results(), 0)?.physicalTable : undefined);
        return;
      case "takes":
        return store.setDuration(each.amount);
      case "weighs":
        return store.setResultBytes(each.amount);
      case "advance":
        return await clock.advance(each.amount);
      case "set":
        return clock.set(each.amount);
      case "collect":
        unfinished.push(caches.collectGarbage());
    }
  }

  async function check(): Promise<void> {
    await runPendingWork();
    for (const lease of leases.keys()) expect(store.isThere(lease.snapshot)).toBe(true);
    expect(store.most().ofOne).toBeLessThanOrEqual(1);
    expect(store.most().refreshes).toBeLessThanOrEqual(2);
    const [current] = [...leases].filter(([lease]) => lease.isCurrent());
    if (current === undefined) return;
    const [{ snapshot }, where] = current;
    const again = await acquired(where, new AbortController().signal, false);
    expect([again.state, again.snapshot]).toEqual(["hit", snapshot]);
    again.release();
  }

  return {
    async step(each: Step) {
      steps++;
      if (isFailing) failedAt = steps;
      await take(each);
      if (isFailing) failedAt = steps;
      await check();
    },
    /** Everything works again and comes to rest. */
    async end() {
      for (const each of [
        { kind: "fails", fails: false },
        { kind: "keeps", keeps: false },
      ] as const)
        await take(each);
      store.setDuration(0);
      await clock.advance(12 * MINUTE);
      await Promise.all(unfinished);
      for (const lease of leases.keys()) lease.release();
      leases.clear();
      for (const where of [...TABLES, ...KEYS]) {
        const lease = await acquired(where, new AbortController().signal, false);
        expect(lease.snapshot.rows).toBeGreaterThanOrEqual(announced.get(sourceOf(where)) ?? 0);
        expect(lease.state).not.toBe("stale");
        lease.release();
      }
      await caches.close();
      expect(clock.timers()).toBe(0);
      expect(store.results()).toEqual([]);
    },
    /** Tables of results without readers: these must fit. Those with no size count for a little. */
    unread: () => {
      const read = new Set([...leases.keys()].map(({ snapshot }) => snapshot));
      const bytes = store.results().map((snapshot) => (read.has(snapshot) ? 0 : Math.max(KIB, snapshot.bytes)));
      return bytes.reduce((sum, each) => sum + each, 0);
    },
  };
}

test("whatever happens in whatever order: nothing goes under a reader, writes are seen, memory is bounded", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80 }), fc.integer(), async (steps, seed) => {
      let state = seed;
      const random = (): number => {
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
        return state / 2 ** 32;
      };
      const opened = await testCaches({ definitions, random, maxBytes: MAX_BYTES, warmUp: (seed & 1) === 0 });
      const running = run(opened);
      // Whatever takes no time meets nothing.
      opened.store.setDuration(10);
      let keeps = false;
      opened.caches.start();
      for (const each of steps) {
        await running.step(each);
        // What cannot be dropped is not counted, and stays until it can.
        keeps ||= each.kind === "keeps" && each.keeps;
        if (!keeps) expect(running.unread()).toBeLessThanOrEqual(MAX_BYTES);
      }
      await running.end();
    }),
    { numRuns: 1_000 },
  );
});
