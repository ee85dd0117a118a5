import type { Report } from "../events.ts";
import type { Snapshot } from "./cache.ts";
import type { Lease } from "./caches.ts";
import { asFailure, reasonOf } from "./refresh-failure.ts";
import type { SnapshotStore } from "./snapshot-store.ts";

/** A snapshot, and how many readers use it. */
export interface HeldSnapshot {
  readonly snapshot: Snapshot;
  readonly sizeTracker: SizeTracker | undefined;
  leases: number;
  /** Whether it is to be dropped as soon as its last lease is released. It gets no new leases. */
  isRetired: boolean;
}

/** Tracks the total size of snapshots. */
export interface SizeTracker {
  /** Called when the last lease of a snapshot is released, and the snapshot stays. */
  onIdle(): void;
  /** Called when a retired snapshot has no more readers. It is about to be dropped. */
  onRetired(snapshot: Snapshot): void;
}

/** Counts the readers of snapshots, so that no snapshot is dropped while it is read. */
export interface Leases {
  /** Starts counting the readers of a snapshot. */
  track(snapshot: Snapshot, sizeTracker?: SizeTracker): HeldSnapshot;
  lease(held: HeldSnapshot, state: Lease["state"], isCurrent: () => boolean): Lease;
  /** Drops a snapshot as soon as it has no readers. */
  retire(held: HeldSnapshot): void;
  /** Retries failed drops. Resolves when all retired snapshots without readers are dropped, or have failed again. */
  flush(): Promise<void>;
  /** How many snapshots have been dropped since startup. */
  droppedCount(): number;
  /** Waits for drops in progress. No more are started. */
  close(): Promise<void>;
}

export function openLeases({ store, report }: { readonly store: SnapshotStore; readonly report: Report }): Leases {
  /** Retired snapshots without readers. */
  let waiting: Snapshot[] = [];
  let dropping: Promise<void> | undefined;
  let droppedCount = 0;
  let isFailing = false;
  let isClosed = false;

  /** Returns why it failed; undefined on success. */
  async function tryToDrop(snapshots: readonly Snapshot[]): Promise<string | undefined> {
    try {
      await store.drop(snapshots);
      droppedCount += snapshots.length;
      return undefined;
    } catch (error) {
      return reasonOf(asFailure(error));
    }
  }

  /** Runs one drop at a time. Snapshots that are retired meanwhile form the next batch. */
  async function dropWaiting(): Promise<void> {
    const remaining: Snapshot[] = [];
    let message: string | undefined;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      if (batch.length > 1 && (await tryToDrop(batch)) === undefined) continue;
      // A snapshot that cannot be dropped must not block the others.
      for (const one of batch) {
        const reason = await tryToDrop([one]);
        if (reason !== undefined) remaining.push(one);
        message ??= reason;
      }
    }
    if (message !== undefined && !isFailing) report({ kind: "cache-drop-failed", message });
    isFailing = message !== undefined;
    waiting = remaining;
    dropping = undefined;
  }

  function startDropping(): void {
    if (waiting.length > 0 && !isClosed) dropping ??= dropWaiting();
  }

  function enqueueDrop({ snapshot, sizeTracker }: HeldSnapshot): void {
    sizeTracker?.onRetired(snapshot);
    waiting.push(snapshot);
    startDropping();
  }

  function release(held: HeldSnapshot): void {
    held.leases--;
    if (held.leases > 0) return;
    if (held.isRetired) enqueueDrop(held);
    else held.sizeTracker?.onIdle();
  }

  return {
    track: (snapshot, sizeTracker) => ({ snapshot, sizeTracker, leases: 0, isRetired: false }),
    lease(held, state, isCurrent) {
      held.leases++;
      let isReleased = false;
      return {
        snapshot: held.snapshot,
        state,
        isCurrent,
        release() {
          if (isReleased) return;
          isReleased = true;
          release(held);
        },
      };
    },
    retire(held) {
      if (held.isRetired) return;
      held.isRetired = true;
      if (held.leases === 0) enqueueDrop(held);
    },
    async flush() {
      startDropping();
      await dropping;
    },
    droppedCount: () => droppedCount,
    async close() {
      await dropping;
      isClosed = true;
    },
  };
}
