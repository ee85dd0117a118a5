import { oneLine } from "../config/problem.ts";
import type { Engine } from "../engines/engine.ts";
import { errorMessage } from "../error-message.ts";
import type { Report } from "../events.ts";
import { RequestFailure } from "../failure.ts";

/** The connections of a project: which are open, which are down and why. */
export interface ConnectionStatus {
  /** Opens those that are not open yet. Rejects with a RequestFailure `connection-down`. */
  open(names: readonly string[]): Promise<void>;
  isOpen(name: string): boolean;
  /** The connections that are down, with the reason (without secrets). A lost connection is up again once a call succeeds. */
  down(): ReadonlyMap<string, string>;
  /** Updates the status of these connections from the result of a call that uses them. */
  follow(names: readonly string[], call: Promise<unknown>): void;
}

/** A connection that is down does not stop the service. Eider retries it whenever a call needs it. */
export function openConnectionStatus(engine: Engine, report: Report): ConnectionStatus {
  const opened = new Set<string>();
  const downReasons = new Map<string, string>();
  const noteDown = (name: string, error: unknown): void => {
    const message = reasonOf(error);
    if (downReasons.get(name) !== message) report({ kind: "connection-down", connection: name, message });
    downReasons.set(name, message);
  };
  const noteUp = (name: string): void => {
    if (downReasons.delete(name)) report({ kind: "connection-up", connection: name });
  };
  const openOne = async (name: string): Promise<void> => {
    try {
      await engine.openConnection(name);
      opened.add(name);
      noteUp(name);
    } catch (error) {
      noteDown(name, error);
      throw error;
    }
  };
  return {
    async open(names) {
      for (const name of names) if (!opened.has(name)) await openOne(name);
    },
    isOpen: (name) => opened.has(name),
    down: () => downReasons,
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
  };
}

/** The database's message, on one line. The failure itself contains only the connection's name. */
export function reasonOf(error: unknown): string {
  const cause = error instanceof RequestFailure ? error.cause : error;
  return oneLine(errorMessage(cause));
}
