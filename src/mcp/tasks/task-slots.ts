import { openClientQuota } from "../../bounded/client-quota.ts";

/** Limits how many tasks run at once, and how many are queued. */
export interface TaskSlots {
  /** Takes a slot for a running call. False if there are too many. */
  acquire(origin: TaskOrigin, limits: TaskLimits): boolean;
  /**
   * Queues a task. `ready` resolves when it may run. `leaveQueue` removes it, or returns false if it has left the queue
   * already. Undefined if the queue is full.
   */
  enqueue(
    origin: TaskOrigin,
    limits: TaskLimits,
  ): { readonly ready: Promise<void>; readonly leaveQueue: () => boolean } | undefined;
  /** Releases the slot of a finished task. */
  release(origin: TaskOrigin): void;
}

/** The client and the message that a task comes from. */
export interface TaskOrigin {
  /** The `clientKey` of the client. */
  readonly client: string;
  /** Memory of its message, held until the task ends. */
  readonly bytes: number;
}

export interface TaskLimits {
  readonly workers: number;
  readonly queueDepth: number;
}

const MIB = 1024 * 1024;
const MAX_BYTES = { total: 64 * MIB, perClient: 48 * MIB };

export function openTaskSlots(): TaskSlots {
  let running = 0;
  const waiting = new Set<{ readonly workers: number; readonly begin: () => void }>();
  const counts = openClientQuota({ total: Number.POSITIVE_INFINITY, perClient: Number.POSITIVE_INFINITY });
  const bytes = openClientQuota(MAX_BYTES);

  /** One client can take at most three quarters of the workers and the queue together. */
  function takeQuota(origin: TaskOrigin, { workers, queueDepth }: TaskLimits): boolean {
    const all = workers + queueDepth;
    if (running + waiting.size >= all || counts.takenBy(origin.client) >= all - (all >> 2)) return false;
    if (!bytes.take(origin.client, origin.bytes)) return false;
    return counts.take(origin.client, 1);
  }

  function releaseQuota(origin: TaskOrigin): void {
    counts.release(origin.client, 1);
    bytes.release(origin.client, origin.bytes);
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
    acquire(origin, limits) {
      if (!takeQuota(origin, limits)) return false;
      running++;
      return true;
    },
    enqueue(origin, limits) {
      if (!takeQuota(origin, limits)) return undefined;
      let leaveQueue = (): boolean => false;
      const ready = new Promise<void>((resolve) => {
        const one = { workers: limits.workers, begin: resolve };
        waiting.add(one);
        leaveQueue = () => {
          if (!waiting.delete(one)) return false;
          releaseQuota(origin);
          return true;
        };
      });
      next();
      return { ready, leaveQueue };
    },
    release(origin) {
      running--;
      releaseQuota(origin);
      next();
    },
  };
}
