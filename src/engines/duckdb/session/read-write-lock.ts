import type { Eventually } from "../../../eventually.ts";
import { RequestFailure } from "../../../failure.ts";
import type { Cancellation } from "../../queue/cancellation.ts";

/** Many readers or one writer at a time, in order of arrival, except that readers pass a writer that has waited for `patienceMs`. */
export interface ReadWriteLock {
  /** Waits for the lock, then returns a function that releases it. Throws a RequestFailure `overloaded` if too many are waiting. */
  enter(use: LockUse, cancellation: Cancellation): Eventually<() => void>;
}

export type LockUse = "read" | "write";

export interface ReadWriteLockOptions {
  /**
   * How long a waiting writer holds back new readers. After that they pass it. Otherwise one slow reader would delay the writer,
   * and the writer all other readers.
   */
  readonly patienceMs: number;
  readonly maxWaiting: number;
}

interface Waiter {
  readonly use: LockUse;
  /** Whether later readers wait behind it. */
  holdsBack: boolean;
  admit(): void;
}

export function openReadWriteLock({ patienceMs, maxWaiting }: ReadWriteLockOptions): ReadWriteLock {
  const waiting = new Set<Waiter>();
  let readers = 0;
  let isWriting = false;

  function take(use: LockUse): () => void {
    if (use === "read") readers++;
    else isWriting = true;
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      if (use === "read") readers--;
      else isWriting = false;
      admitWaiting();
    };
  }

  function admitWaiting(): void {
    let isHeldBack = false;
    for (const waiter of waiting) {
      const mayEnter = !isWriting && (waiter.use === "read" ? !isHeldBack : readers === 0);
      if (mayEnter) {
        waiting.delete(waiter);
        waiter.admit();
      } else isHeldBack ||= waiter.holdsBack;
    }
  }

  function wait(use: LockUse, cancellation: Cancellation): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        use,
        holdsBack: use === "write",
        admit() {
          clearTimeout(patience);
          cancellation.listen(undefined);
          resolve(take(use));
        },
      };
      const letOthersPass = (): void => {
        waiter.holdsBack = false;
        admitWaiting();
      };
      const patience = use === "write" ? setTimeout(letOthersPass, patienceMs) : undefined;
      waiting.add(waiter);
      cancellation.listen((reason) => {
        clearTimeout(patience);
        waiting.delete(waiter);
        reject(reason);
        admitWaiting();
      });
    });
  }

  return {
    enter(use, cancellation) {
      const isFree = !isWriting && (use === "read" ? ![...waiting].some((each) => each.holdsBack) : readers === 0);
      if (isFree) return take(use);
      if (waiting.size >= maxWaiting) throw new RequestFailure({ kind: "overloaded" });
      return wait(use, cancellation);
    },
  };
}
