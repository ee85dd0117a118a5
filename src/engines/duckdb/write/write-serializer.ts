import { RequestFailure } from "../../../failure.ts";
import { isConflict } from "../messages.ts";
import { abandonable } from "../session/cancellation.ts";
import type { Session } from "../session/session.ts";

/**
 * DuckDB lets everybody write at once, and whoever comes second to the same row fails. So writes begin side by side; once
 * one has met a conflict, it and those that come after it go one at a time, until nobody waits any more.
 */
export interface WriteSerializer {
  /** `key` names what is written to. Rejects with a RequestFailure `conflict` after many tries in vain. */
  run<T>(key: string, session: Session, attempt: () => Promise<T>): Promise<T>;
  /** The same, one at a time from the beginning. */
  queue<T>(key: string, session: Session, attempt: () => Promise<T>): Promise<T>;
  /** Tries again where it is, for work that is already alone in its key or commits piece by piece. */
  retry<T>(session: Session, attempt: () => Promise<T>): Promise<T>;
}

const MOST_TRIES = 50;
const LONGEST_PAUSE_MS = 20;

export function openWriteSerializer(): WriteSerializer {
  /** The last in each key that is in use: whoever comes next waits for it. */
  const queues = new Map<string, Promise<void>>();

  async function alone<T>(key: string, session: Session, work: () => Promise<T>): Promise<T> {
    const before = queues.get(key);
    let leave = (): void => {};
    const mine = new Promise<void>((resolve) => {
      leave = resolve;
    });
    // Whoever gives up in the queue leaves it in its place: the next one waits for the one before.
    const turn = before === undefined ? mine : before.then(() => mine);
    queues.set(key, turn);
    try {
      if (before !== undefined) {
        session.pause();
        await abandonable(session.cancellation, before);
        await session.resume();
      }
      return await work();
    } finally {
      leave();
      if (queues.get(key) === turn) queues.delete(key);
    }
  }

  async function retry<T>(session: Session, attempt: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await attempt();
      } catch (error) {
        if (!isConflict(error)) throw error;
        await session.rollback();
        if (tries >= MOST_TRIES) throw new RequestFailure({ kind: "conflict" }, { cause: error });
      }
      const pause = Math.random() * Math.min(LONGEST_PAUSE_MS, tries * 2);
      await abandonable(session.cancellation, new Promise<void>((resolve) => setTimeout(resolve, pause)));
      session.cancellation.check();
    }
  }

  return {
    retry,
    queue: (key, session, attempt) => alone(key, session, () => retry(session, attempt)),
    async run(key, session, attempt) {
      if (!queues.has(key)) {
        try {
          return await attempt();
        } catch (error) {
          if (!isConflict(error)) throw error;
          await session.rollback();
        }
      }
      return await alone(key, session, () => retry(session, attempt));
    },
  };
}
