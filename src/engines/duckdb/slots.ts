import { RequestFailure } from "../../failure.ts";
import { abandonable, type Cancellation } from "./cancellation.ts";

/** How much native work runs at once. First come, first served. */
export interface Slots {
  /** Waits for a slot; an `overloaded` failure when too many wait already. */
  enter(cancellation: Cancellation): Promise<void> | undefined;
  /** Like `enter`, for work that has begun already and is never turned away. */
  reenter(cancellation: Cancellation): Promise<void> | undefined;
  /** Takes a slot when one is free and nobody waits. */
  tryEnter(): boolean;
  leave(): void;
  running(): number;
  waiting(): number;
}

export function openSlots(size: number, maxWaiting: number): Slots {
  // A set keeps the order of arrival, and whoever gives up leaves it at once.
  const queue = new Set<() => void>();
  let running = 0;

  // Undefined when there is room: the common case costs no promise.
  function reenter(cancellation: Cancellation): Promise<void> | undefined {
    cancellation.check();
    if (running < size && queue.size === 0) {
      running++;
      return undefined;
    }
    return wait(cancellation);
  }

  async function wait(cancellation: Cancellation): Promise<void> {
    let admit = (): void => {};
    let admitted = false;
    const turn = new Promise<void>((resolve) => {
      admit = () => {
        admitted = true;
        resolve();
      };
    });
    queue.add(admit);
    try {
      await abandonable(cancellation, turn);
      cancellation.check();
    } catch (reason) {
      // Cancelled in the very moment of its turn: it owns a slot and must hand it on.
      if (admitted) leave();
      else queue.delete(admit);
      throw reason;
    }
  }

  function leave(): void {
    for (const admit of queue) {
      queue.delete(admit);
      admit();
      return;
    }
    running--;
  }

  return {
    enter(cancellation) {
      if (queue.size >= maxWaiting && (running >= size || queue.size > 0)) {
        cancellation.check();
        throw new RequestFailure({ kind: "overloaded" });
      }
      return reenter(cancellation);
    },
    reenter,
    tryEnter() {
      if (running >= size || queue.size > 0) return false;
      running++;
      return true;
    },
    leave,
    running: () => running,
    waiting: () => queue.size,
  };
}
