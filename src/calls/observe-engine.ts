import type { EmbeddedEngine } from "../engines/embedded-engine.ts";
import type { Engine, StopSignal } from "../engines/engine.ts";
import { RequestFailure } from "../failure.ts";
import type { ConnectionStatus } from "./connection-status.ts";

/** Receives the results of an engine's calls. */
export interface EngineObservers {
  readonly connectionStatus: Pick<ConnectionStatus, "follow" | "watch">;
  /** Called when a query failed in the database. */
  readonly onQueryFailed: (message: string) => void;
}

interface EngineCall {
  readonly connections: readonly string[];
  readonly signal: StopSignal;
}

/** Wraps an engine. Its calls report which connections are down or up again, and whether the database still works. */
export function observeEngine(engine: Engine, observers: EngineObservers): Engine {
  return { ...engine, ...followedCalls(engine, openFollower(engine, observers)) };
}

export function observeEmbedded(engine: EmbeddedEngine, observers: EngineObservers): EmbeddedEngine {
  const follower = openFollower(engine, observers);
  return {
    ...engine,
    ...followedCalls(engine, follower),
    readIntoFile: (call, file) => follower.read(call, (watched) => engine.readIntoFile(watched, file)),
    change: (call, work) => follower.write(call, (watched) => engine.change(watched, work)),
  };
}

function followedCalls(
  engine: Engine,
  { read, write }: ReturnType<typeof openFollower>,
): Pick<Engine, "read" | "write" | "writeOnce"> {
  return {
    read: (call) => read(call, engine.read),
    write: (call) => write(call, engine.write),
    writeOnce: (call, once) => write(call, (watched) => engine.writeOnce(watched, once)),
  };
}

function openFollower(engine: Engine, { connectionStatus, onQueryFailed }: EngineObservers) {
  const { watch } = connectionStatus;

  function follow<T>({ connections }: EngineCall, call: Promise<T>): Promise<T> {
    if (connections.length > 0) connectionStatus.follow(connections, call);
    call.catch((error: unknown) => {
      if (error instanceof RequestFailure && error.failure.kind === "query-failed")
        onQueryFailed(error.failure.message);
    });
    return call;
  }

  /** A call whose rows nobody needs if a database server hangs. */
  function read<C extends EngineCall, T>(call: C, start: (call: C) => Promise<T>): Promise<T> {
    return follow(call, call.connections.some(engine.canProbe) ? watch.run(call, start) : start(call));
  }

  function write<C extends EngineCall, T>(call: C, start: (call: C) => Promise<T>): Promise<T> {
    return follow(call, call.connections.some(engine.canProbe) ? watch.runToEnd(call, start) : start(call));
  }

  return { read, write };
}
