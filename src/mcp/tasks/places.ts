import { openClientQuota } from "../../bounded/client-quota.ts";

/** How many tasks run at once, and how many wait for that. */
export interface Places {
  /** A call that runs already becomes a task. False when there are too many. */
  join(origin: TaskOrigin, limits: Limits): boolean;
  /** Resolves when it may run; undefined when too many wait. `giveUp` takes it out of the queue, if it still waits. */
  wait(
    origin: TaskOrigin,
    limits: Limits,
  ): { readonly turn: Promise<void>; readonly giveUp: () => boolean } | undefined;
  /** One that ran is done. */
  leave(origin: TaskOrigin): void;
}

/** The client and the message that a task comes from. */
export interface TaskOrigin {
  /** As `clientKey` names it. */
  readonly client: string;
  /** What its message holds until the task is over. */
  readonly bytes: number;
}

export interface Limits {
  readonly workers: number;
  readonly queueDepth: number;
}

const MIB = 1024 * 1024;
const MAX_BYTES = { total: 64 * MIB, perClient: 48 * MIB };

export function openPlaces(): Places {
  let running = 0;
  const waiting = new Set<{ readonly workers: number; readonly begin: () => void }>();
  const counts = openClientQuota({ total: Number.POSITIVE_INFINITY, perClient: Number.POSITIVE_INFINITY });
  const bytes = openClientQuota(MAX_BYTES);

  /** A client leaves a quarter of all places to others. */
  function take(origin: TaskOrigin, { workers, queueDepth }: Limits): boolean {
    const all = workers + queueDepth;
    if (running + waiting.size >= all || counts.of(origin.client) >= all - (all >> 2)) return false;
    if (!bytes.take(origin.client, origin.bytes)) return false;
    return counts.take(origin.client, 1);
  }

  function giveBack(origin: TaskOrigin): void {
    counts.give(origin.client, 1);
    bytes.give(origin.client, origin.bytes);
  }

  function next(): void {
    for (const one of waiting) {
      if (running >= one.workers) return;
      waiting.delete(one);
      running++;
      one.begin();
    }
  }
  return {
    join(origin, limits) {
      if (!take(origin, limits)) return false;
      running++;
      return true;
    },
    wait(origin, limits) {
      if (!take(origin, limits)) return undefined;
      let giveUp = (): boolean => false;
      const turn = new Promise<void>((resolve) => {
        const one = { workers: limits.workers, begin: resolve };
        waiting.add(one);
        giveUp = () => {
          if (!waiting.delete(one)) return false;
          giveBack(origin);
          return true;
        };
      });
      next();
      return { turn, giveUp };
    },
    leave(origin) {
      running--;
      giveBack(origin);
      next();
    },
  };
}
