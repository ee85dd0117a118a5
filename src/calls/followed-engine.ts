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
export function observeEngine(engine: Engine, { connectionStatus, onQueryFailed }: EngineObservers): Engine {
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

  return {
    ...engine,
    read: (call) => read(call, engine.read),
    readIntoFile: (call, file) => read(call, (watched) => engine.readIntoFile(watched, file)),
    write: (call) => write(call, engine.write),
    writeOnce: (call, once) => write(call, (watched) => engine.writeOnce(watched, once)),
    change: (call, work) => write(call, (watched) => engine.change(watched, work)),
  };
}
