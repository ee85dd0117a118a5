import type { Snapshot } from "./cache.ts";
import type { After } from "./schedule.ts";
import type { SnapshotStore } from "./snapshot-store.ts";
import { isResult } from "./store-names.ts";

/** A process that has just been given the name of a snapshot may not have begun to read it. */
const DROP_AFTER_MS = 60_000;

/** The store of a process among several: only the leader takes snapshots away, and not before the others have let go of them. */
export function sharedStore(
  store: SnapshotStore,
  { leads, after }: { readonly leads: () => boolean; readonly after: After },
): SnapshotStore {
  return {
    ...store,
    async drop(snapshots: readonly Snapshot[]) {
      // Rows of calls are this process's own.
      const own = snapshots.filter(({ physicalTable }) => isResult(physicalTable));
      if (own.length > 0) await store.drop(own);
      const others = snapshots.filter((snapshot) => !own.includes(snapshot));
      if (others.length === 0 || !leads()) return;
      after(DROP_AFTER_MS, () => {
        // What is left behind is dropped with what comes next, or by the next leader.
        if (leads()) void store.drop(others).catch(() => {});
      });
    },
  };
}
