import type { StopSignal } from "../engines/engine.ts";
import type { Prober } from "../engines/prober.ts";
import { openStop, type Stop } from "../engines/stop.ts";
import { RequestFailure } from "../failure.ts";

/**
 * Notices database servers that accept calls but do not respond. A call that waits for one cannot be interrupted, and keeps a thread
 * and a query slot. So if no call to a server succeeds for a while, Eider probes it, with one probe at a time. If that hangs too, calls
 * to the server fail at once, until a probe succeeds, and those that wait for it give their slots back.
 */
export interface ConnectionWatch {
  /** Runs a call that can be given up: if a server of its connections hangs, it rejects with `connection-down`. */
  run<C extends WatchedCall, T>(call: C, start: (call: C) => Promise<T>): Promise<T>;
  /** The same for a call whose result must be known: once it has left the queue, it is always awaited. */
  runToEnd<C extends StartedCall, T>(call: C, start: (call: C) => Promise<T>): Promise<T>;
  /** Probes a connection in the background, unless a call or a probe has just succeeded. */
  check(name: string): void;
  /** For how many milliseconds a connection has not responded. Undefined if it responds. */
  hangingMs(name: string): number | undefined;
}

interface WatchedCall {
  readonly connections: readonly string[];
  readonly signal: StopSignal;
}

interface StartedCall extends WatchedCall {
  readonly onStart?: (() => void) | undefined;
}

export interface ConnectionWatchOptions {
  readonly engine: Prober;
  readonly onDown: (name: string, error: unknown) => void;
  readonly onUp: (name: string) => void;
}

interface PendingCall {
  readonly startedAt: number;
  /** Does nothing if the call must be awaited. */
  readonly giveUp: (failure: RequestFailure) => void;
}

interface WatchedConnection {
  readonly name: string;
  /** The oldest first. */
  readonly pending: Set<PendingCall>;
  lastResponseAt: number;
  isProbing: boolean;
  /** When the probe that found it hanging started. */
  hangsSince: number | undefined;
}

/** So often Eider looks for calls without a response. */
const INTERVAL_MS = 500;
/** A connection that has not responded for this long is probed. */
const SUSPICIOUS_AFTER_MS = 2_000;
/** A server that does not respond to a probe within this time hangs. */
const PROBE_LIMIT_MS = 3_000;

export function openConnectionWatch({ engine, onDown, onUp }: ConnectionWatchOptions): ConnectionWatch {
  const watched = new Map<string, WatchedConnection>();
  let timer: NodeJS.Timeout | undefined;

  function connectionOf(name: string): WatchedConnection {
    const known = watched.get(name);
    if (known !== undefined) return known;
    const connection: WatchedConnection = {
      name,
      pending: new Set(),
      lastResponseAt: Number.NEGATIVE_INFINITY,
      isProbing: false,
      hangsSince: undefined,
    };
    watched.set(name, connection);
    return connection;
  }

  function lookAgain(): void {
    if (timer === undefined) timer = setTimeout(look, INTERVAL_MS).unref();
  }

  function look(): void {
    timer = undefined;
    const now = performance.now();
    for (const connection of watched.values()) {
      const { name, pending, lastResponseAt, hangsSince } = connection;
      if (!engine.canProbe(name)) continue;
      const [oldest] = pending;
      if (oldest === undefined && hangsSince === undefined) continue;
      lookAgain();
      const quietSince = Math.max(lastResponseAt, oldest?.startedAt ?? Number.NEGATIVE_INFINITY);
      if (hangsSince !== undefined || now - quietSince > SUSPICIOUS_AFTER_MS) probe(connection);
    }
  }

  function probe(connection: WatchedConnection): void {
    if (connection.isProbing) return;
    connection.isProbing = true;
    const startedAt = performance.now();
    const limit = setTimeout(() => noteHanging(connection, startedAt), PROBE_LIMIT_MS).unref();
    engine
      .probe(connection.name)
      .then(
        () => noteResponse(connection),
        (error: unknown) => noteFailure(connection, error, performance.now() - startedAt),
      )
      .finally(() => {
        clearTimeout(limit);
        connection.isProbing = false;
      });
  }

  function noteHanging(connection: WatchedConnection, since: number): void {
    const failure = hangFailure(connection.name);
    if (connection.hangsSince === undefined) onDown(connection.name, failure);
    connection.hangsSince ??= since;
    // First those in the queue: otherwise, they would get the slots.
    for (const { giveUp } of [...connection.pending]) giveUp(failure);
    engine.freeSlots(connection.name);
    lookAgain();
  }

  function noteResponse(connection: WatchedConnection): void {
    connection.lastResponseAt = performance.now();
    connection.hangsSince = undefined;
    onUp(connection.name);
  }

  function noteFailure(connection: WatchedConnection, error: unknown, tookMs: number): void {
    const isDown = error instanceof RequestFailure && error.failure.kind === "connection-down";
    // A server that reports an error responds.
    if (!isDown) noteResponse(connection);
    else {
      onDown(connection.name, error);
      // Calls find out by themselves as quickly as the probe did.
      if (tookMs < PROBE_LIMIT_MS) connection.hangsSince = undefined;
    }
  }

  function watchedIn({ connections }: WatchedCall): readonly WatchedConnection[] {
    const servers = connections.filter(engine.canProbe).map(connectionOf);
    const hanging = servers.find(({ hangsSince }) => hangsSince !== undefined);
    if (hanging !== undefined) throw hangFailure(hanging.name);
    return servers;
  }

  /** Counts a call as pending until it settles. */
  function follow<T>(servers: readonly WatchedConnection[], pending: PendingCall, call: Promise<T>): void {
    for (const server of servers) server.pending.add(pending);
    lookAgain();
    const end = (): void => {
      for (const server of servers) server.pending.delete(pending);
    };
    call.then(() => {
      end();
      for (const server of servers) server.lastResponseAt = performance.now();
    }, end);
  }

  return {
    async run(call, start) {
      const servers = watchedIn(call);
      const stop = openStop();
      // Not undone when the call settles: its rows may still be read.
      passOn(call.signal, stop);
      const running = start({ ...call, signal: stop.signal });
      return await new Promise((resolve, reject) => {
        const giveUp = (failure: RequestFailure): void => {
          stop.abort(failure);
          reject(failure);
        };
        follow(servers, { startedAt: performance.now(), giveUp }, running);
        running.then(resolve, reject);
      });
    },
    async runToEnd(call, start) {
      const servers = watchedIn(call);
      const stop = openStop();
      const stopPassingOn = passOn(call.signal, stop);
      let hasStarted = false;
      const onStart = (): void => {
        hasStarted = true;
        call.onStart?.();
      };
      const running = start({ ...call, signal: stop.signal, onStart });
      const giveUp = (failure: RequestFailure): void => {
        if (!hasStarted) stop.abort(failure);
      };
      follow(servers, { startedAt: performance.now(), giveUp }, running);
      return await running.finally(stopPassingOn);
    },
    check(name) {
      if (!engine.canProbe(name)) return;
      const connection = connectionOf(name);
      if (performance.now() - connection.lastResponseAt > SUSPICIOUS_AFTER_MS) probe(connection);
    },
    hangingMs(name) {
      const since = watched.get(name)?.hangsSince;
      return since === undefined ? undefined : performance.now() - since;
    },
  };
}

/** Aborts a stop when the signal aborts, until the returned function is called. */
function passOn(signal: StopSignal, stop: Stop): () => void {
  const abort = (): void => stop.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort);
  return () => signal.removeEventListener("abort", abort);
}

function hangFailure(connection: string): RequestFailure {
  const cause = new Error("it does not respond");
  return new RequestFailure({ kind: "connection-down", connection }, { cause });
}
