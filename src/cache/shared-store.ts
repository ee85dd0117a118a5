import type { After } from "../time-limit.ts";
import type { Snapshot } from "./cache.ts";
import type { SnapshotStore } from "./snapshot-store.ts";
import { isResult } from "./store-names.ts";

/** How long drops are delayed: another process may know the name of a snapshot and still read it. */
const DROP_AFTER_MS = 60_000;

/** A store that several processes share. Only the leader drops snapshots, after the others have stopped reading them. */
export function sharedStore(
  store: SnapshotStore,
  { leads, after }: { readonly leads: () => boolean; readonly after: After },
): SnapshotStore {
  return {
    ...store,
    async drop(snapshots: readonly Snapshot[]) {
      // Results belong to this process alone.
      const own = snapshots.filter(({ physicalTable }) => isResult(physicalTable));
      if (own.length > 0) await store.drop(own);
      const others = snapshots.filter((snapshot) => !own.includes(snapshot));
      if (others.length === 0 || !leads()) return;
      after(DROP_AFTER_MS, () => {
        // On failure, they are dropped with the next ones, or by the next leader.
        if (leads()) void store.drop(others).catch(() => {});
      });
    },
  };
}
