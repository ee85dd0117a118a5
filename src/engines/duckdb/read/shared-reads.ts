import { RequestFailure } from "../../../failure.ts";
import type { StopSignal } from "../../engine.ts";
import type { Rows } from "../../rows.ts";
import { openStop, type Stop } from "../../stop.ts";
import { isHeld } from "../load/held-rows.ts";

/** Concurrent identical reads share one execution. */
export interface SharedReads {
  /** `key` is equal for reads that can share an execution, if `mayShare` allows it. */
  read(key: string, options: SharedRead): Promise<Rows>;
  /** How many reads shared another's execution. */
  sharedCount(): number;
}

export interface SharedRead {
  readonly signal: StopSignal;
  /** Whether two callers may get the same rows; only called when there is an execution to share. */
  readonly mayShare: () => Promise<boolean>;
  readonly run: (signal: StopSignal) => Promise<Rows>;
}

/** An execution and its number of waiting callers. It stops when the last caller stops waiting. */
interface SharedExecution {
  readonly result: Promise<Rows>;
  readonly stop: Stop;
  callers: number;
  isRunning: boolean;
  /** A caller has aborted. No other may join, or the execution might never end. */
  isClosedToOthers: boolean;
}

export function openSharedReads(): SharedReads {
  const executions = new Map<string, SharedExecution>();
  let sharedCount = 0;

  function startExecution(key: string, { signal, run }: SharedRead): Promise<Rows> {
    const stop = openStop();
    const execution: SharedExecution = {
      result: run(stop.signal),
      stop,
      callers: 0,
      isRunning: true,
      isClosedToOthers: false,
    };
    executions.set(key, execution);
    const onEnd = (): void => {
      execution.isRunning = false;
      executions.delete(key);
    };
    execution.result.then((rows) => {
      onEnd();
      // The callers' own handlers run later, so those who still wait are counted. They do not use a stream.
      const isUnused = execution.callers === 0 || (signal.aborted && !isHeld(rows));
      if (isUnused) void rows.close();
    }, onEnd);
    return waitFor(execution, signal, (rows) => {
      if (isHeld(rows)) return rows.fromStart(signal);
      // A stream is not shared. It ends with the caller that started it.
      signal.addEventListener("abort", () => stop.abort(signal.reason));
      return rows;
    });
  }

  async function join(execution: SharedExecution, { signal, run, mayShare }: SharedRead): Promise<Rows> {
    if (execution.isClosedToOthers) return await run(signal);
    const shared = await waitFor(execution, signal, (rows) => rows, mayShare());
    if (shared === undefined || !isHeld(shared)) return await run(signal);
    sharedCount++;
    return shared.fromStart(signal);
  }

  return {
    read(key, options) {
      const execution = executions.get(key);
      return execution === undefined ? startExecution(key, options) : join(execution, options);
    },
    sharedCount: () => sharedCount,
  };
}

/**
 * What `take` returns for the rows of an execution; undefined when `mayShare` resolves to false. Rejects when `signal` aborts; the
 * other callers keep waiting.
 */
function waitFor(execution: SharedExecution, signal: StopSignal, take: (rows: Rows) => Rows): Promise<Rows>;
function waitFor(
  execution: SharedExecution,
  signal: StopSignal,
  take: (rows: Rows) => Rows,
  mayShare: Promise<boolean>,
): Promise<Rows | undefined>;
function waitFor(
  execution: SharedExecution,
  signal: StopSignal,
  take: (rows: Rows) => Rows,
  mayShare?: Promise<boolean>,
): Promise<Rows | undefined> {
  execution.callers++;
  return new Promise((resolve, reject) => {
    let isWaiting = true;
    const leave = (): void => {
      if (isWaiting) execution.callers--;
      isWaiting = false;
      signal.removeEventListener("abort", onAbort);
    };
    const onAbort = (): void => {
      execution.isClosedToOthers = true;
      leave();
      const rejectStopped = (): void => reject(signal.reason);
      if (execution.callers > 0) rejectStopped();
      else {
        // The last caller waits until the execution has ended.
        execution.stop.abort(signal.reason);
        execution.result.then(rejectStopped, rejectStopped);
      }
    };
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort);
    const settle = (): void => {
      execution.result.then(
        (rows) => {
          leave();
          resolve(take(rows));
        },
        (error: unknown) => {
          leave();
          reject(error);
        },
      );
    };
    if (mayShare === undefined) return settle();
    const leaveUnshared = (): void => {
      leave();
      // The one who started it has aborted, and nobody else shares it.
      if (execution.callers === 0 && execution.isRunning)
        execution.stop.abort(new RequestFailure({ kind: "cancelled" }));
    };
    mayShare.then(
      (isShareable) => {
        if (isShareable) return settle();
        leaveUnshared();
        resolve(undefined);
      },
      (error: unknown) => {
        leaveUnshared();
        reject(error);
      },
    );
  });
}
