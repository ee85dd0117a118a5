import type { Report } from "../events.ts";
import type { Leases } from "./leases.ts";
import type { RefreshQueue } from "./refresh-queue.ts";
import type { Schedule } from "./schedule.ts";
import type { SnapshotStore } from "./snapshot-store.ts";
import type { Timing } from "./timing.ts";
import type { WriteMarks } from "./write-marks.ts";

/** What table caches and result caches are built on. Only table caches use `marks` and `sharing`. */
export interface Coordination {
  readonly store: SnapshotStore;
  readonly queue: RefreshQueue;
  readonly schedule: Schedule;
  readonly leases: Leases;
  readonly timing: Timing;
  readonly marks: WriteMarks;
  readonly now: () => number;
  readonly report: Report;
  /** Set when other processes share the catalog. */
  readonly sharing: Sharing | undefined;
}

/** Several processes share a catalog: the leader refreshes on schedule, the others adopt its snapshots. */
export interface Sharing {
  /** Whether this process is the leader. */
  leads(): boolean;
}
