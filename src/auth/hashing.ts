import { type Derive, deriveKey } from "./password.ts";

/** Where passwords are hashed: few at a time, so that a flood of wrong ones cannot take the machine. */
export interface Hashing {
  /** Waits for its turn, then does `work`. Nothing when too many wait already. */
  run<T>(work: (derive: Derive) => Promise<T>): Promise<T> | undefined;
}

export interface HashingOptions {
  readonly concurrency?: number;
  readonly maxWaiting?: number;
  readonly derive?: Derive;
}

/** One for the whole service: blocks that each had their own would take the machine together. */
export function openHashing({ concurrency = 2, maxWaiting = 64, derive = deriveKey }: HashingOptions = {}): Hashing {
  const waiting: (() => void)[] = [];
  let running = 0;

  /** Starts the work that has waited longest. */
  function leave(): void {
    const next = waiting.shift();
    if (next === undefined) running--;
    else next();
  }

  async function inTurn<T>(turn: Promise<void> | undefined, work: (derive: Derive) => Promise<T>): Promise<T> {
    await turn;
    try {
      return await work(derive);
    } finally {
      leave();
    }
  }

  return {
    run(work) {
      if (running < concurrency) {
        running++;
        return inTurn(undefined, work);
      }
      if (waiting.length >= maxWaiting) return undefined;
      return inTurn(new Promise((resolve) => waiting.push(resolve)), work);
    },
  };
}
