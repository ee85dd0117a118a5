import type { Snapshot } from "./cache.ts";
import type { After } from "./schedule.ts";
import type { SnapshotStore } from "./snapshot-store.ts";
import { isResult } from "./store-names.ts";

/** Another process may have just got the name of a snapshot without reading it yet. */
const DROP_AFTER_MS = 60_000;

/** The store of a process among several: only the leader drops snapshots, after the others have stopped reading them. */
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
