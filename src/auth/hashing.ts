import { type Derive, deriveKey } from "./password.ts";

/** Limits how many passwords are hashed at once, so that a flood of wrong ones cannot use all CPUs. */
export interface Hashing {
  /** Runs `work` as soon as a slot is free. Undefined if the queue is full. */
  run<T>(work: (derive: Derive) => Promise<T>): Promise<T> | undefined;
}

export interface HashingOptions {
  readonly concurrency?: number;
  readonly maxWaiting?: number;
  readonly derive?: Derive;
}

/** Open one for the whole service: with one per `auth` block, the limits would add up. */
export function openHashing({ concurrency = 2, maxWaiting = 64, derive = deriveKey }: HashingOptions = {}): Hashing {
  const waiting: (() => void)[] = [];
  let running = 0;

  /** Releases a slot, and starts the oldest waiting work. */
  function releaseSlot(): void {
    const next = waiting.shift();
    if (next === undefined) running--;
    else next();
  }

  async function runInSlot<T>(slot: Promise<void> | undefined, work: (derive: Derive) => Promise<T>): Promise<T> {
    await slot;
    try {
      return await work(derive);
    } finally {
      releaseSlot();
    }
  }

  return {
    run(work) {
      if (running < concurrency) {
        running++;
        return runInSlot(undefined, work);
      }
      if (waiting.length >= maxWaiting) return undefined;
      return runInSlot(new Promise((resolve) => waiting.push(resolve)), work);
    },
  };
}
