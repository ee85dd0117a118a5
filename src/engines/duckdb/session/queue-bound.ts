/** How many queries may wait for a slot. Beyond that, it is better to reject at once than to respond too late. */
export interface QueueBound {
  /** Reports how many wait now. */
  waiting(count: number): void;
  /** Reports that one of them was admitted. */
  moved(): void;
  isFull(queue: QueueState): boolean;
}

export interface QueueState {
  readonly waiting: number;
  /** Those of the same group. */
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

/** A burst is no overload: its queries may wait this long. */
const PATIENCE_IN_A_BURST_MS = 3_000;
/** A queue that has not been empty for this long is no burst. */
const BURST_MS = 100;
const PATIENCE_MS = 250;
/** However slow the queries are: a small team should get late responses rather than none. */
const LEAST_WAITING = 80;
const MOST_WAITING = 1_000;
/** Measurements older than this are dropped. */
const MEASUREMENT_MS = 10_000;
/** The interval is a moving average over this many admissions. */
const TURNS = 32;

export function openQueueBound({ size, maxWaiting, now }: QueueBoundOptions): QueueBound {
  let standingSince: number | undefined;
  let emptySince: number | undefined;
  let movedAt: number | undefined;
  /** Milliseconds between admissions while queries wait. */
  let interval = 0;
  let turns = 0;

  function most(groups: number): number {
    if (maxWaiting !== undefined) return maxWaiting;
    const isBurst = standingSince === undefined || now() - standingSince < BURST_MS;
    const patience = isBurst ? PATIENCE_IN_A_BURST_MS : PATIENCE_MS;
    const soon = interval > 0 ? Math.ceil(patience / interval) : MOST_WAITING;
    return Math.min(MOST_WAITING, Math.max(LEAST_WAITING, size, groups, soon));
  }

  function begin(): void {
    standingSince = now();
    if (emptySince === undefined || standingSince - emptySince < MEASUREMENT_MS) return;
    interval = 0;
    turns = 0;
  }

  return {
    waiting(count) {
      if (count > 0) {
        if (standingSince === undefined) begin();
        return;
      }
      standingSince = undefined;
      movedAt = undefined;
      emptySince = now();
    },
    moved() {
      const at = now();
      if (movedAt !== undefined) {
        turns = Math.min(TURNS, turns + 1);
        interval += (at - movedAt - interval) / turns;
      }
      movedAt = at;
    },
    isFull({ waiting, ofGroup, groups, isAlone }) {
      const limit = most(groups);
      if (waiting >= limit) return true;
      // One group leaves capacity for others if they were used recently, and gets its share while they wait.
      const ofOne = groups > 1 ? Math.ceil(limit / groups) : isAlone ? limit : limit - (limit >> 2);
      return ofGroup >= ofOne;
    },
  };
}
