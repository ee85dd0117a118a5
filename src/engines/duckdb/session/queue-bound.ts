/** How many queries may wait for a slot. Beyond that, an early rejection is better than a late response. */
export interface QueueBound {
  /** Reports how many wait now. */
  waiting(count: number): void;
  /** Reports that one of them was admitted. */
  admitted(): void;
  isFull(queue: QueueState): boolean;
}

export interface QueueState {
  readonly waiting: number;
  /** Waiting queries of the same group. */
  readonly ofGroup: number;
  /** Groups with running or waiting queries, this one included. */
  readonly groups: number;
  /** No other group was used recently. */
  readonly isAlone: boolean;
}

export interface QueueBoundOptions {
  readonly size: number;
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
const MEASUREMENT_MS = 10_000;
/** The interval is a moving average over this many admissions. */
const AVERAGED_ADMISSIONS = 32;

export function openQueueBound({ size, maxWaiting, now }: QueueBoundOptions): QueueBound {
  let nonEmptySince: number | undefined;
  let emptySince: number | undefined;
  let admittedAt: number | undefined;
  /** Milliseconds between admissions while queries wait. */
  let interval = 0;
  let measured = 0;

  function limitFor(groups: number): number {
    if (maxWaiting !== undefined) return maxWaiting;
    const isBurst = nonEmptySince === undefined || now() - nonEmptySince < BURST_MS;
    const maxWaitMs = isBurst ? MAX_WAIT_IN_BURST_MS : MAX_WAIT_MS;
    const soon = interval > 0 ? Math.ceil(maxWaitMs / interval) : MAX_LIMIT;
    return Math.min(MAX_LIMIT, Math.max(MIN_LIMIT, size, groups, soon));
  }

  function begin(): void {
    nonEmptySince = now();
    if (emptySince === undefined || nonEmptySince - emptySince < MEASUREMENT_MS) return;
    interval = 0;
    measured = 0;
  }

  return {
    waiting(count) {
      if (count > 0) {
        if (nonEmptySince === undefined) begin();
        return;
      }
      nonEmptySince = undefined;
      admittedAt = undefined;
      emptySince = now();
    },
    admitted() {
      const at = now();
      if (admittedAt !== undefined) {
        measured = Math.min(AVERAGED_ADMISSIONS, measured + 1);
        interval += (at - admittedAt - interval) / measured;
      }
      admittedAt = at;
    },
    isFull({ waiting, ofGroup, groups, isAlone }) {
      const limit = limitFor(groups);
      if (waiting >= limit) return true;
      // While other groups are busy, each gets an equal share. If others were only used recently, a quarter stays free for them.
      const ofGroupLimit = groups > 1 ? Math.ceil(limit / groups) : isAlone ? limit : limit - (limit >> 2);
      return ofGroup >= ofGroupLimit;
    },
  };
}
