import type { Engine } from "../engines/engine.ts";
import { RequestFailure } from "../failure.ts";
import type { ConnectionStatus } from "./connection-status.ts";

/** Who wants to know what calls come to. */
export interface Followers {
  readonly sources: Pick<ConnectionStatus, "follow">;
  /** A query failed in the database. */
  readonly queryFailed: (message: string) => void;
}

/** The same engine, whose calls tell which sources are gone or back, and whether the database still works. */
export function followedEngine(engine: Engine, { sources, queryFailed }: Followers): Engine {
  function following<T>({ connections }: { readonly connections: readonly string[] }, call: Promise<T>): Promise<T> {
    if (connections.length > 0) sources.follow(connections, call);
    call.catch((error: unknown) => {
      if (error instanceof RequestFailure && error.failure.kind === "query-failed") queryFailed(error.failure.message);
    });
    return call;
  }
  return {
    ...engine,
    read: (read) => following(read, engine.read(read)),
    readIntoFile: (read, file) => following(read, engine.readIntoFile(read, file)),
    write: (write) => following(write, engine.write(write)),
    writeOnce: (write, once) => following(write, engine.writeOnce(write, once)),
    change: (change, work) => following(change, engine.change(change, work)),
  };
}
