import type { StopSignal } from "../../engine.ts";
import type { Rows } from "../../rows.ts";
import { openStop, type Stop } from "../../stop.ts";
import { isHeld } from "../load/held-rows.ts";

/** Concurrent identical reads share one execution. */
export interface SharedReads {
  /** Two reads with the same key return the same rows. */
  read(key: string, options: SharedRead): Promise<Rows>;
  /** How many reads shared another's execution. */
  shared(): number;
}

export interface SharedRead {
  readonly signal: StopSignal;
  /** Whether two callers may get the same rows; only called when there is an execution to share. */
  readonly mayShare: () => Promise<boolean>;
  readonly run: (signal: StopSignal) => Promise<Rows>;
}

/** A running execution and its number of waiting callers. It stops when the last one does. */
interface Flight {
  readonly result: Promise<Rows>;
  readonly stop: Stop;
  members: number;
  /** A caller has stopped waiting. No other may join, or the execution might never end. */
  abandoned: boolean;
}

export function openSharedReads(): SharedReads {
  const flights = new Map<string, Flight>();
  let shares = 0;

  async function lead(key: string, { signal, run }: SharedRead): Promise<Rows> {
    const stop = openStop();
    const flight: Flight = { result: run(stop.signal), stop, members: 0, abandoned: false };
    flights.set(key, flight);
    const removeFlight = (): void => {
      flights.delete(key);
    };
    flight.result.then((rows) => {
      removeFlight();
      if (flight.members === 0) void rows.close();
    }, removeFlight);
    const rows = await waitFor(flight, signal);
    if (isHeld(rows)) return rows.again(signal);
    // A stream is not shared. It ends with the caller that started it.
    signal.addEventListener("abort", () => stop.abort(signal.reason));
    return rows;
  }

  return {
    async read(key, options) {
      const { signal, run } = options;
      const flight = flights.get(key);
      if (flight === undefined) return await lead(key, options);
      if (flight.abandoned) return await run(signal);
      const shared = await waitFor(flight, signal, options.mayShare());
      if (shared === undefined || !isHeld(shared)) return await run(signal);
      shares++;
      return shared.again(signal);
    },
    shared: () => shares,
  };
}

/** The rows of an execution; undefined when `mayShare` resolves to false. Rejects when `signal` aborts; other callers wait on. */
function waitFor(flight: Flight, signal: StopSignal): Promise<Rows>;
function waitFor(flight: Flight, signal: StopSignal, mayShare: Promise<boolean>): Promise<Rows | undefined>;
function waitFor(flight: Flight, signal: StopSignal, mayShare?: Promise<boolean>): Promise<Rows | undefined> {
  flight.members++;
  return new Promise((resolve, reject) => {
    let isMember = true;
    const leave = (): void => {
      if (isMember) flight.members--;
      isMember = false;
      signal.removeEventListener("abort", stopped);
    };
    const stopped = (): void => {
      flight.abandoned = true;
      leave();
      const rejectStopped = (): void => reject(signal.reason);
      if (flight.members > 0) rejectStopped();
      else {
        // The last caller waits until the execution has ended.
        flight.stop.abort(signal.reason);
        flight.result.then(rejectStopped, rejectStopped);
      }
    };
    if (signal.aborted) return stopped();
    signal.addEventListener("abort", stopped);
    const take = (): void => {
      flight.result.then(
        (rows) => {
          leave();
          resolve(rows);
        },
        (error: unknown) => {
          leave();
          reject(error);
        },
      );
    };
    if (mayShare === undefined) return take();
    mayShare.then(
      (shares) => {
        if (shares) return take();
        leave();
        resolve(undefined);
      },
      (error: unknown) => {
        leave();
        reject(error);
      },
    );
  });
}
