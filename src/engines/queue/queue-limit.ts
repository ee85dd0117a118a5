/** How many queries may wait for a slot. Beyond that, an early rejection is better than a late response. */
export interface QueueLimit {
  /** To be called whenever the number of waiting queries changes. */
  setWaiting(count: number): void;
  /** To be called when a waiting query is admitted. */
  noteAdmission(): void;
  isFull(queue: QueueState): boolean;
}

/** The queue as a new query finds it. */
export interface QueueState {
  readonly waiting: number;
  /** Waiting queries in the group of the new one. */
  readonly waitingInGroup: number;
  /** Groups with running or waiting queries, including that of the new one. */
  readonly busyGroups: number;
  /** Whether no other group is busy or was used recently. */
  readonly isOnlyActiveGroup: boolean;
}

export interface QueueLimitOptions {
  /** How many queries can run at once. */
  readonly slots: number;
  /** A fixed limit. Undefined: it follows how quickly the queue moves. */
  readonly maxWaiting: number | undefined;
  readonly now: () => number;
}

/** A burst is not an overload: its queries may wait this long. */
const MAX_WAIT_IN_BURST_MS = 3_000;
/** Once queries have been waiting for this long without a break, it is no longer a burst. */
const BURST_MS = 100;
const MAX_WAIT_MS = 250;
/** Applies however slow the queries are: with few users, a late response is better than a rejection. */
const MIN_LIMIT = 80;
const MAX_LIMIT = 1_000;
/** The measured interval is discarded when the queue has been empty for this long. */
const FORGET_AFTER_EMPTY_MS = 10_000;
/** The interval is a moving average over this many admissions. */
const AVERAGED_ADMISSIONS = 32;

export function openQueueLimit({ slots, maxWaiting, now }: QueueLimitOptions): QueueLimit {
  let nonEmptySince: number | undefined;
  let emptySince: number | undefined;
  let admittedAt: number | undefined;
  /** Milliseconds between admissions while queries wait. */
  let interval = 0;
  let sampleCount = 0;

  function limitFor(busyGroups: number): number {
    if (maxWaiting !== undefined) return maxWaiting;
    const isBurst = nonEmptySince === undefined || now() - nonEmptySince < BURST_MS;
    const maxWaitMs = isBurst ? MAX_WAIT_IN_BURST_MS : MAX_WAIT_MS;
    const admittedInTime = interval > 0 ? Math.ceil(maxWaitMs / interval) : MAX_LIMIT;
    return Math.min(MAX_LIMIT, Math.max(MIN_LIMIT, slots, busyGroups, admittedInTime));
  }

  function startWaiting(): void {
    nonEmptySince = now();
    if (emptySince === undefined || nonEmptySince - emptySince < FORGET_AFTER_EMPTY_MS) return;
    interval = 0;
    sampleCount = 0;
  }

  return {
    setWaiting(count) {
      if (count > 0) {
        if (nonEmptySince === undefined) startWaiting();
        return;
      }
      nonEmptySince = undefined;
      admittedAt = undefined;
      emptySince = now();
    },
    noteAdmission() {
      const at = now();
      if (admittedAt !== undefined) {
        sampleCount = Math.min(AVERAGED_ADMISSIONS, sampleCount + 1);
        interval += (at - admittedAt - interval) / sampleCount;
      }
      admittedAt = at;
    },
    isFull({ waiting, waitingInGroup, busyGroups, isOnlyActiveGroup }) {
      const limit = limitFor(busyGroups);
      if (waiting >= limit) return true;
      // While other groups are busy, each gets an equal share. If others were only used recently, a quarter stays free for them.
      const groupLimit =
        busyGroups > 1 ? Math.ceil(limit / busyGroups) : isOnlyActiveGroup ? limit : limit - (limit >> 2);
      return waitingInGroup >= groupLimit;
    },
  };
}
