import type { Report } from "../events.ts";
import type { Snapshot } from "./cache.ts";
import type { Lease } from "./caches.ts";
import { asFailure, reasonOf } from "./refresh-failure.ts";
import type { SnapshotStore } from "./snapshot-store.ts";

/** A snapshot of this process, with those who read it. */
export interface HeldSnapshot {
  readonly snapshot: Snapshot;
  readonly account: Account | undefined;
  leases: number;
  /** Nobody gets it any more: it goes with its last lease. */
  isRetired: boolean;
}

/** Whoever counts what snapshots take up. */
export interface Account {
  /** The last lease has gone, and the snapshot stays. */
  idle(): void;
  /** The snapshot goes. */
  gone(snapshot: Snapshot): void;
}

/** Who reads which snapshot, so that none is dropped under a reader. */
export interface Leases {
  hold(snapshot: Snapshot, account?: Account): HeldSnapshot;
  lease(held: HeldSnapshot, state: Lease["state"], isCurrent: () => boolean): Lease;
  /** Drops a snapshot as soon as nobody reads it. */
  retire(held: HeldSnapshot): void;
  /** Tries again to drop what could not be dropped; resolves when everything that can go has gone. */
  flush(): Promise<void>;
  /** How many have gone since the beginning. */
  dropped(): number;
  /** Nothing is dropped any more; resolves when the last drop is over. */
  close(): Promise<void>;
}

export function openLeases({ store, report }: { readonly store: SnapshotStore; readonly report: Report }): Leases {
  let waiting: Snapshot[] = [];
  let dropping: Promise<void> | undefined;
  let dropped = 0;
  let failing = false;
  let closed = false;

  /** Why it did not work; undefined when it did. */
  async function tryToDrop(snapshots: readonly Snapshot[]): Promise<string | undefined> {
    try {
      await store.drop(snapshots);
      dropped += snapshots.length;
      return undefined;
    } catch (error) {
      return reasonOf(asFailure(error));
    }
  }

  /** One drop at a time: what comes meanwhile goes together with the next. */
  async function dropWaiting(): Promise<void> {
    const left: Snapshot[] = [];
    let message: string | undefined;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      if (batch.length > 1 && (await tryToDrop(batch)) === undefined) continue;
      // One that cannot be dropped must not keep the others.
      for (const one of batch) {
        const reason = await tryToDrop([one]);
        if (reason !== undefined) left.push(one);
        message ??= reason;
      }
    }
    if (message !== undefined && !failing) report({ kind: "cache-drop-failed", message });
    failing = message !== undefined;
    waiting = left;
    dropping = undefined;
  }

  function dropNow(): void {
    if (waiting.length > 0 && !closed) dropping ??= dropWaiting();
  }

  function drop({ snapshot, account }: HeldSnapshot): void {
    account?.gone(snapshot);
    waiting.push(snapshot);
    dropNow();
  }

  function release(held: HeldSnapshot): void {
    held.leases--;
    if (held.leases > 0) return;
    if (held.isRetired) drop(held);
    else held.account?.idle();
  }

  return {
    hold: (snapshot, account) => ({ snapshot, account, leases: 0, isRetired: false }),
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
      if (held.leases === 0) drop(held);
    },
    async flush() {
      dropNow();
      await dropping;
    },
    dropped: () => dropped,
    async close() {
      await dropping;
      closed = true;
    },
  };
}
