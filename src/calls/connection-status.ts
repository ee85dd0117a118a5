import { oneLine } from "../config/problem.ts";
import type { Engine } from "../engines/engine.ts";
import type { Prober } from "../engines/prober.ts";
import { errorMessage } from "../error-message.ts";
import type { Report } from "../events.ts";
import { RequestFailure } from "../failure.ts";
import { type ConnectionWatch, openConnectionWatch } from "./connection-watch.ts";

/** The connections of a project: which are open, which are down and why. */
export interface ConnectionStatus {
  /** Opens those that are not open yet. Rejects with a RequestFailure `connection-down`. */
  open(names: readonly string[]): Promise<void>;
  isOpen(name: string): boolean;
  /** The connections that are down, with the reason (without secrets). A lost connection is up again once a call succeeds. */
  down(): ReadonlyMap<string, string>;
  /** The failure of a call that has waited for an `init` as long as it may. Undefined if none of these is running. */
  openingFailure(names: readonly string[]): RequestFailure | undefined;
  /** What a connection waits for, and for how long. Undefined if it does not wait. */
  waitingFor(name: string): string | undefined;
  /** The connections whose `init` has been running for a second or more. */
  opening(): readonly string[];
  /** Looks in the background whether the connections respond again, or still. */
  check(): void;
  /** Updates the status of these connections from the result of a call that uses them. */
  follow(names: readonly string[], call: Promise<unknown>): void;
  readonly watch: ConnectionWatch;
}

interface Opening {
  readonly startedAt: number;
  readonly done: Promise<void>;
}

/** An `init` that has run for less is not worth mentioning. */
const SHORT_MS = 1_000;
/** If an attempt to open a connection takes longer and fails, calls no longer wait for the next one. */
const SLOW_MS = 2_000;
/** A running `init` is logged after this time. */
const LONG_INIT_MS = 10_000;

/** A connection that is down does not stop the service. Eider retries it whenever a call needs it. */
export function openConnectionStatus(engineOf: (connection: string) => Engine, report: Report): ConnectionStatus {
  const opened = new Set<string>();
  const openings = new Map<string, Opening>();
  /** Connections whose last attempt failed slowly. */
  const slow = new Set<string>();
  const downReasons = new Map<string, string>();
  const noteDown = (name: string, error: unknown): void => {
    const message = reasonOf(error);
    if (downReasons.get(name) !== message) report({ kind: "connection-down", connection: name, message });
    downReasons.set(name, message);
  };
  const noteUp = (name: string): void => {
    if (downReasons.delete(name)) report({ kind: "connection-up", connection: name });
  };
  const prober: Prober = {
    canProbe: (name) => engineOf(name).canProbe(name),
    probe: (name) => engineOf(name).probe(name),
    freeSlots: (name) => engineOf(name).freeSlots(name),
  };
  const watch = openConnectionWatch({ engine: prober, onDown: noteDown, onUp: noteUp });

  /** One attempt at a time. */
  function openOne(name: string): Promise<void> {
    const running = openings.get(name);
    if (running !== undefined) return running.done;
    const startedAt = performance.now();
    const done = attempt(name, startedAt).finally(() => openings.delete(name));
    openings.set(name, { startedAt, done });
    return done;
  }

  async function attempt(name: string, startedAt: number): Promise<void> {
    const elapsedMs = (): number => performance.now() - startedAt;
    let isReported = false;
    const reportLong = setTimeout(() => {
      isReported = true;
      report({ kind: "connection-opening", connection: name, ms: elapsedMs() });
    }, LONG_INIT_MS).unref();
    try {
      await engineOf(name).openConnection(name);
      opened.add(name);
      slow.delete(name);
      if (isReported) report({ kind: "connection-opened", connection: name, ms: elapsedMs() });
      noteUp(name);
    } catch (error) {
      if (elapsedMs() > SLOW_MS) slow.add(name);
      else slow.delete(name);
      noteDown(name, error);
      throw error;
    } finally {
      clearTimeout(reportLong);
    }
  }

  /** Fails at once if the last attempt failed slowly. The next one runs in the background. */
  async function openForCall(name: string): Promise<void> {
    const opening = openOne(name);
    if (!slow.has(name)) return await opening;
    opening.catch(() => {});
    const cause = new Error(downReasons.get(name));
    throw new RequestFailure({ kind: "connection-down", connection: name }, { cause });
  }

  function openingMs(name: string): number | undefined {
    const opening = openings.get(name);
    return opening && performance.now() - opening.startedAt;
  }

  return {
    async open(names) {
      for (const name of names) if (!opened.has(name)) await openForCall(name);
    },
    isOpen: (name) => opened.has(name),
    down: () => downReasons,
    openingFailure(names) {
      for (const name of names) {
        const ms = openingMs(name);
        if (ms !== undefined) return new RequestFailure({ kind: "connection-opening", connection: name, ms });
      }
      return undefined;
    },
    waitingFor(name) {
      const ms = openingMs(name);
      if (ms !== undefined && ms >= SHORT_MS) return `running its init statement, for ${seconds(ms)}`;
      const hangingMs = watch.hangingMs(name);
      return hangingMs === undefined ? undefined : `does not respond, for ${seconds(hangingMs)}`;
    },
    opening: () => [...openings.keys()].filter((name) => (openingMs(name) ?? 0) >= SHORT_MS),
    check() {
      for (const name of downReasons.keys()) if (!opened.has(name)) openOne(name).catch(() => {});
      for (const name of opened) watch.check(name);
    },
    follow(names, call) {
      call.then(
        () => {
          if (downReasons.size > 0) for (const name of names) noteUp(name);
        },
        (error: unknown) => {
          if (error instanceof RequestFailure && error.failure.kind === "connection-down")
            noteDown(error.failure.connection, error);
        },
      );
    },
    watch,
  };
}

/** The database's message, on one line. The failure itself contains only the connection's name. */
export function reasonOf(error: unknown): string {
  const cause = error instanceof RequestFailure ? error.cause : error;
  return oneLine(errorMessage(cause));
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
