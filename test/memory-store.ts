import {
  type CacheDefinition,
  type CacheName,
  cacheKey,
  type RefreshRecord,
  type Snapshot,
} from "../src/cache/cache.ts";
import type { SnapshotStore } from "../src/cache/snapshot-store.ts";
import type { StopSignal } from "../src/engines/engine.ts";
import { type Failure, RequestFailure } from "../src/failure.ts";
import type { FakeClock } from "./turned-clock.ts";

/** A refresh or a materialisation that has begun. */
export interface BegunRefresh {
  /** `table`, or `table:sql` for a result. */
  readonly what: string;
  readonly at: number;
}

/**
 * A store that keeps snapshots in a map. The row count of a snapshot is the number of writes to its source before the refresh
 * began. Tests control how long a refresh takes, whether it fails, and how large its result is.
 */
export interface MemoryStore extends SnapshotStore {
  /** Simulates a committed write to the source of a cache. Returns the number of writes so far. */
  write(table: string): number;
  /** Sets how long refreshes take that begin from now on. */
  setDuration(ms: number): void;
  /** Makes refreshes fail that end from now on, of one table or of all. Undefined makes them succeed again. */
  setFailure(failure: Failure | undefined, table?: string): void;
  /** Makes drops of one physical table fail from now on. Undefined makes them succeed again. */
  setUndroppable(physicalTable: string | undefined): void;
  /** Sets the size of results that are created from now on. */
  setResultBytes(bytes: number): void;
  isThere(snapshot: Snapshot): boolean;
  /** The results that have not been dropped. */
  results(): readonly Snapshot[];
  readonly begun: readonly BegunRefresh[];
  readonly failures: readonly RefreshRecord[];
  /** The maximum number of simultaneous refreshes: of tables of all caches, and of a single cache or key. */
  most(): { readonly refreshes: number; readonly ofOne: number };
}

export function memoryStore(clock: FakeClock, loaded: readonly Snapshot[] = []): MemoryStore {
  const tables = new Map<string, Snapshot>(loaded.map((snapshot) => [snapshot.physicalTable, snapshot]));
  const results = new Set<Snapshot>();
  const writes = new Map<string, number>();
  const failing = new Map<string, Failure>();
  const begun: BegunRefresh[] = [];
  const failures: RefreshRecord[] = [];
  const running: string[] = [];
  const most = { refreshes: 0, ofOne: 0 };
  let duration = 0;
  let bytes = 0;
  let undroppable: string | undefined;
  let lastId = loaded.length;

  async function work(name: CacheName, what: string, signal: StopSignal): Promise<Snapshot> {
    if (signal.aborted) throw signal.reason;
    begun.push({ what, at: clock.now() });
    running.push(what);
    const ofOne = running.filter((other) => other === what).length;
    most.ofOne = Math.max(most.ofOne, ofOne);
    most.refreshes = Math.max(most.refreshes, running.filter((other) => !other.includes(":")).length);
    const rows = writes.get(name.table) ?? 0;
    try {
      if (duration > 0) await pause(clock, duration, signal);
      const failure = failing.get(name.table) ?? failing.get("");
      if (failure !== undefined) throw new RequestFailure(failure);
    } finally {
      running.splice(running.indexOf(what), 1);
    }
    const id = ++lastId;
    const physicalTable = `${name.table}__${id}`;
    const snapshot = { name, id, uid: `uid-${id}`, physicalTable, createdAtMs: clock.now(), rows, bytes };
    tables.set(physicalTable, snapshot);
    return snapshot;
  }

  return {
    load: () => Promise.resolve(loaded),
    outdated: () => Promise.resolve([]),
    marks: undefined,
    async refresh({ name }: CacheDefinition, previous, signal) {
      if (previous !== undefined && !tables.has(previous.physicalTable)) throw new Error("the previous one is gone");
      return { ...(await work(name, name.table, signal)), bytes: 0 };
    },
    async materialize({ name, statements }, signal) {
      const snapshot = await work(name, `${name.table}:${statements.map(({ sql }) => sql).join(";")}`, signal);
      results.add(snapshot);
      return snapshot;
    },
    async drop(snapshots) {
      if (snapshots.some(({ physicalTable }) => physicalTable === undroppable))
        throw new RequestFailure({ kind: "query-failed", message: `${undroppable} cannot be dropped` });
      for (const snapshot of snapshots) {
        tables.delete(snapshot.physicalTable);
        results.delete(snapshot);
      }
    },
    async recordFailure(record) {
      failures.push(record);
    },
    records: () => Promise.resolve(failures.toReversed()),
    write(table) {
      const count = (writes.get(table) ?? 0) + 1;
      writes.set(table, count);
      return count;
    },
    setDuration(ms) {
      duration = ms;
    },
    setFailure(failure, table = "") {
      if (failure === undefined) failing.delete(table);
      else failing.set(table, failure);
    },
    setUndroppable(physicalTable) {
      undroppable = physicalTable;
    },
    setResultBytes(each) {
      bytes = each;
    },
    isThere: ({ physicalTable }) => tables.has(physicalTable),
    results: () => [...results],
    begun,
    failures,
    most: () => most,
  };
}

export function snapshotOf({ schema, table }: CacheName, id: number, createdAtMs: number): Snapshot {
  const physicalTable = `${cacheKey({ schema, table })}__${id}`;
  return { name: { schema, table }, id, uid: `old-${table}-${id}`, physicalTable, createdAtMs, rows: 0, bytes: 0 };
}

function pause(clock: FakeClock, ms: number, signal: StopSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      cancel();
      reject(signal.reason);
    };
    const cancel = clock.after(ms, () => {
      signal.removeEventListener("abort", stop);
      resolve();
    });
    signal.addEventListener("abort", stop);
  });
}
