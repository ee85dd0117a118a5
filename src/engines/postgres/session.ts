import type { Statement } from "../../sql/statement.ts";
import { withTimeLimit } from "../../time-limit.ts";
import type { Cancellation } from "../queue/cancellation.ts";
import { textsOf } from "./parameters.ts";
import type { PooledLink } from "./pool.ts";
import { prepareOn } from "./prepare.ts";
import type { Prepared } from "./prepared.ts";
import { openMessageWriter } from "./wire/messages.ts";

/** One statement of an exchange. */
export interface Step {
  /** A command of Eider's own, or a statement of a template that is prepared. */
  readonly run: string | Prepared;
  readonly values?: readonly (string | null)[];
  /** The server stops after this many rows. */
  readonly maxRows?: number | undefined;
  readonly onRow?: ((bytes: Buffer, start: number) => void) | undefined;
  readonly onComplete?: ((tag: string | undefined) => void) | undefined;
}

/** Runs statements on one connection of the pool, for one read or write. */
export interface Session {
  readonly cancellation: Cancellation;
  prepare(statement: Statement): Promise<Prepared>;
  /** Runs the steps in one round trip. Rejects with the first error; the later steps are then not run. */
  run(steps: readonly Step[]): Promise<void>;
  /** Ends a transaction that is still open, without its changes. */
  rollback(): Promise<void>;
  isInTransaction(): boolean;
  pause(): void;
  resume(): void;
  /** The statement that ran last. */
  lastStatement(): Statement | undefined;
  /** Prepared statements are prepared again. */
  forgetPrepared(): void;
  /** The connection is not used again. */
  discard(): void;
  /** Returns the connection to the pool. */
  end(): Promise<void>;
}

/** A server that does not stop a query within this time after a cancel request is disconnected. */
const STOP_MS = 2_000;

export function openSession(link: PooledLink, cancellation: Cancellation, onEnd: () => void): Session {
  let last: Statement | undefined;
  let isEnded = false;
  let stopping: Promise<void> | undefined;
  let running: Promise<void> = Promise.resolve();

  async function exchange(messages: Buffer, receiver: Parameters<PooledLink["exchange"]>[1]): Promise<void> {
    cancellation.check();
    cancellation.listen(stop);
    const work = link.exchange(messages, receiver);
    running = work.catch(() => {});
    try {
      await work;
    } finally {
      cancellation.listen(undefined);
      // The connection is not used again before the server has handled the cancel request.
      await stopping;
      cancellation.check();
    }
  }

  function stop(): void {
    // Rows that are on their way must be read before the server notices.
    link.resume();
    const current = running;
    stopping ??= link.cancel().then(() => withTimeLimit(current, STOP_MS, () => link.close()));
  }

  async function rollback(): Promise<void> {
    if (link.lost() !== undefined || link.state() === "idle") return;
    const messages = openMessageWriter().parse("", "ROLLBACK", []).bind("", [], []).execute(0).sync().take();
    await withTimeLimit(link.exchange(messages, {}), STOP_MS, () => link.close());
  }

  return {
    cancellation,
    async prepare(statement) {
      last = statement;
      return await prepareOn(link, statement, exchange);
    },
    async run(steps) {
      const writer = openMessageWriter();
      for (const { run, values, maxRows } of steps) {
        if (typeof run === "string") writer.parse("", run, []).bind("", values ?? [], []);
        else writer.bind(run.name, values ?? textsOf(run.statement.values), run.formats);
        writer.execute(maxRows ?? 0);
      }
      let index = 0;
      const enter = (): Step | undefined => {
        const step = steps[index];
        if (step !== undefined && typeof step.run !== "string") last = step.run.statement;
        return step;
      };
      let step = enter();
      await exchange(writer.sync().take(), {
        row: (bytes, start) => step?.onRow?.(bytes, start),
        onRejected: stop,
        complete(tag) {
          step?.onComplete?.(tag);
          index++;
          step = enter();
        },
      });
    },
    rollback,
    isInTransaction: () => link.state() !== "idle",
    pause: () => isEnded || link.pause(),
    resume: () => isEnded || link.resume(),
    lastStatement: () => last,
    forgetPrepared: () => link.forgetPrepared(),
    discard: () => link.close(),
    async end() {
      if (isEnded) return;
      isEnded = true;
      link.resume();
      try {
        await stopping;
        await rollback();
      } catch {
        // A connection whose transaction cannot be ended is not used again.
        link.close();
      } finally {
        cancellation.end();
        link.release();
        onEnd();
      }
    },
  };
}
