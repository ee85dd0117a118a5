/** How many tasks run at once, and how many wait for that. */
export interface Places {
  /** A call that runs already becomes a task. False when there are too many. */
  join(limits: Limits): boolean;
  /** Resolves when it may run; undefined when too many wait. `giveUp` takes it out of the queue, if it still waits. */
  wait(limits: Limits): { readonly turn: Promise<void>; readonly giveUp: () => boolean } | undefined;
  /** One that ran is done. */
  leave(): void;
}

export interface Limits {
  readonly workers: number;
  readonly queueDepth: number;
}

export function openPlaces(): Places {
  let running = 0;
  const waiting = new Set<{ readonly workers: number; readonly begin: () => void }>();
  const hasRoom = ({ workers, queueDepth }: Limits): boolean => running + waiting.size < workers + queueDepth;
  function next(): void {
    for (const one of waiting) {
      if (running >= one.workers) return;
      waiting.delete(one);
      running++;
      one.begin();
    }
  }
  return {
    join(limits) {
      if (!hasRoom(limits)) return false;
      running++;
      return true;
    },
    wait(limits) {
      if (!hasRoom(limits)) return undefined;
      let giveUp = (): boolean => false;
      const turn = new Promise<void>((resolve) => {
        const one = { workers: limits.workers, begin: resolve };
        waiting.add(one);
        giveUp = () => waiting.delete(one);
      });
      next();
      return { turn, giveUp };
    },
    leave() {
      running--;
      next();
    },
  };
}
