/** How many may wait for a slot. Beyond it whoever comes is better told at once than kept for an answer that comes too late. */
export interface QueueBound {
  /** So many wait now. */
  waiting(count: number): void;
  /** One of them has its turn. */
  moved(): void;
  isFull(queue: QueueState): boolean;
}

export interface QueueState {
  readonly waiting: number;
  /** Those of the group that one more would join. */
  readonly ofGroup: number;
  /** Groups with work that runs or waits, this one included. */
  readonly groups: number;
  /** No other group has been used lately. */
  readonly isAlone: boolean;
}

export interface QueueBoundOptions {
  readonly size: number;
  /** A fixed bound. Undefined: it follows how quickly the queue moves. */
  readonly maxWaiting: number | undefined;
  readonly now: () => number;
}

/** What is accepted has its turn within this time, or after so many queries in each slot. */
/** Many at the same moment are no overload: what comes together may wait so long. */
const PATIENCE_IN_A_BURST_MS = 3_000;
/** A queue that has not been empty for this long is no burst. */
const BURST_MS = 100;
const PATIENCE_MS = 250;
/** However slow the queries are: a team with its tools is no flood, and is better served late than not at all. */
const LEAST_WAITING = 80;
const MOST_WAITING = 1_000;
/** How quickly the queue moved longer ago than this says nothing of now. */
const REMEMBERED_MS = 10_000;
/** The mean is about that of so many turns. */
const TURNS = 32;

export function openQueueBound({ size, maxWaiting, now }: QueueBoundOptions): QueueBound {
  let standingSince: number | undefined;
  let emptySince: number | undefined;
  let movedAt: number | undefined;
  /** Milliseconds from one turn to the next, while somebody waits. */
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
    if (emptySince === undefined || standingSince - emptySince < REMEMBERED_MS) return;
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
      // One group leaves room for others as long as there are any, and has its share when they come.
      const ofOne = groups > 1 ? Math.ceil(limit / groups) : isAlone ? limit : limit - (limit >> 2);
      return ofGroup >= ofOne;
    },
  };
}
