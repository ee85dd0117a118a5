import type { CacheDefinition, Snapshot } from "../src/cache/cache.ts";
import type { Caches, Lease } from "../src/cache/caches.ts";
import { type CachesOptions, openCaches } from "../src/cache/open-caches.ts";
import type { StopSignal } from "../src/engines/engine.ts";
import type { ServiceEvent } from "../src/events.ts";
import { type MemoryStore, memoryStore } from "./memory-store.ts";
import { type FakeClock, fakeClock } from "./turned-clock.ts";

export const NEVER: StopSignal = new AbortController().signal;

/** Caches with a store in memory and a clock that the test controls. */
export interface TestCaches {
  readonly caches: Caches;
  readonly store: MemoryStore;
  readonly clock: FakeClock;
  readonly events: ServiceEvent[];
  /** Acquires the snapshot of a table. */
  table(table?: string, acquiring?: { readonly signal?: StopSignal; readonly refresh?: boolean }): Promise<Lease>;
  /** Acquires a result from the cache `results`. */
  result(sql: string, acquiring?: ResultAcquiring): Promise<Lease>;
  /** Acquires a table and releases it immediately. Returns its state, and the number of writes that it includes. */
  read(table?: string): Promise<readonly [state: Lease["state"], writes: number]>;
  readResult(sql: string, acquiring?: ResultAcquiring): Promise<readonly [state: Lease["state"], writes: number]>;
}

interface ResultAcquiring {
  readonly scheduleMs?: number;
  readonly signal?: StopSignal;
  readonly refresh?: boolean;
}

export const nameOf = (table: string) => ({ schema: "cache", table });
export const RESULTS = nameOf("results");

export function tableCache(table: string, definition: Partial<CacheDefinition> = {}): CacheDefinition {
  return {
    name: nameOf(table),
    mode: { kind: "full" },
    retention: { keepLast: 1, maxAgeMs: undefined },
    connections: [],
    scheduleMs: undefined,
    render: () => ({ kind: "select", statements: [{ sql: `SELECT * FROM ${table}`, values: [] }] }),
    ...definition,
  };
}

type Options = Partial<Omit<CachesOptions, "store" | "report">> & {
  readonly clock?: FakeClock;
  readonly loaded?: readonly Snapshot[];
};

export async function testCaches({ clock = fakeClock(), loaded = [], ...options }: Options = {}): Promise<TestCaches> {
  const store = memoryStore(clock, loaded);
  const events: ServiceEvent[] = [];
  const caches = await openCaches({
    store,
    definitions: [tableCache("t")],
    now: clock.now,
    after: clock.after,
    random: () => 0.5,
    report(event) {
      if (event.kind !== "cache-invalidated") events.push(event);
    },
    warmUp: false,
    ...options,
  });
  const table: TestCaches["table"] = (name = "t", { signal = NEVER, refresh = false } = {}) =>
    caches.acquire(nameOf(name), { signal, refresh });
  const result: TestCaches["result"] = (sql, { scheduleMs, signal = NEVER, refresh = false } = {}) =>
    caches.acquireResult(
      sql,
      { name: RESULTS, connections: [], statements: [{ sql, values: [] }], scheduleMs },
      { signal, refresh },
    );
  const readAndRelease = async (acquired: Promise<Lease>): Promise<readonly [Lease["state"], number]> => {
    const { state, snapshot, release } = await acquired;
    if (!store.isThere(snapshot)) throw new Error(`${snapshot.physicalTable} is gone while it is leased`);
    release();
    return [state, snapshot.rows];
  };
  return {
    caches,
    store,
    clock,
    events,
    table,
    result,
    read: (name) => readAndRelease(table(name)),
    readResult: (sql, acquiring) => readAndRelease(result(sql, acquiring)),
  };
}
