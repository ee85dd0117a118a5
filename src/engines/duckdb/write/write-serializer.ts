import { RequestFailure } from "../../../failure.ts";
import { waitUnlessCancelled } from "../../queue/cancellation.ts";
import { isConflict } from "../messages.ts";
import type { Session } from "../session/session.ts";

/**
 * DuckDB runs writes concurrently and fails the second one to change the same row. Writes start concurrently; once
 * one conflicts, it and later ones with the same key run one at a time, until none is waiting.
 */
export interface WriteSerializer {
  /** `key` names the tables that are changed. Rejects with a RequestFailure `conflict` after many failed retries. */
  run<T>(key: string, session: Session, attempt: () => Promise<T>): Promise<T>;
  /** Retries without queueing, for work that already runs alone or commits step by step. */
  retry<T>(session: Session, attempt: () => Promise<T>): Promise<T>;
}

const MAX_TRIES = 50;
const MAX_PAUSE_MS = 20;

export function openWriteSerializer(): WriteSerializer {
  /** The last write of each key in use: the next one waits for it. */
  const queues = new Map<string, Promise<void>>();

  async function runAlone<T>(key: string, session: Session, work: () => Promise<T>): Promise<T> {
    const before = queues.get(key);
    let leave = (): void => {};
    const mine = new Promise<void>((resolve) => {
      leave = resolve;
    });
    // A write that is cancelled in the queue keeps its position: the next one waits for the one before it.
    const turn = before === undefined ? mine : before.then(() => mine);
    queues.set(key, turn);
    try {
      if (before !== undefined) {
        session.pause();
        await waitUnlessCancelled(session.cancellation, before);
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
        if (tries >= MAX_TRIES) throw new RequestFailure({ kind: "conflict" }, { cause: error });
      }
      const pause = Math.random() * Math.min(MAX_PAUSE_MS, tries * 2);
      await waitUnlessCancelled(session.cancellation, new Promise<void>((resolve) => setTimeout(resolve, pause)));
      session.cancellation.check();
    }
  }

  return {
    retry,
    async run(key, session, attempt) {
      if (!queues.has(key)) {
        try {
          return await attempt();
        } catch (error) {
          if (!isConflict(error)) throw error;
          await session.rollback();
        }
      }
      return await runAlone(key, session, () => retry(session, attempt));
    },
  };
}
