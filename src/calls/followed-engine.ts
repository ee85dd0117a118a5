import type { Engine } from "../engines/engine.ts";
import { RequestFailure } from "../failure.ts";
import type { ConnectionStatus } from "./connection-status.ts";

/** Receives the results of an engine's calls. */
export interface EngineObservers {
  readonly connectionStatus: Pick<ConnectionStatus, "follow">;
  /** Called when a query failed in the database. */
  readonly onQueryFailed: (message: string) => void;
}

/** Wraps an engine. Its calls report which connections are down or up again, and whether the database still works. */
export function observeEngine(engine: Engine, { connectionStatus, onQueryFailed }: EngineObservers): Engine {
  function follow<T>({ connections }: { readonly connections: readonly string[] }, call: Promise<T>): Promise<T> {
    if (connections.length > 0) connectionStatus.follow(connections, call);
    call.catch((error: unknown) => {
      if (error instanceof RequestFailure && error.failure.kind === "query-failed")
        onQueryFailed(error.failure.message);
    });
    return call;
  }
  return {
    ...engine,
    read: (read) => follow(read, engine.read(read)),
    readIntoFile: (read, file) => follow(read, engine.readIntoFile(read, file)),
    write: (write) => follow(write, engine.write(write)),
    writeOnce: (write, once) => follow(write, engine.writeOnce(write, once)),
    change: (change, work) => follow(change, engine.change(change, work)),
  };
}
