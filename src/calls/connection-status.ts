import { oneLine } from "../config/problem.ts";
import type { Engine } from "../engines/engine.ts";
import { errorMessage } from "../error-message.ts";
import type { Report } from "../events.ts";
import { RequestFailure } from "../failure.ts";

/** The connections of a project: which are open, which cannot be reached and why. */
export interface ConnectionStatus {
  /** Opens what is not open yet. Rejects with a RequestFailure `connection-down`. */
  open(names: readonly string[]): Promise<void>;
  isOpen(name: string): boolean;
  /** Those that failed last time, with the reason (without secrets). One that was open before is back when a call has used it. */
  down(): ReadonlyMap<string, string>;
  /** What a call over these connections has come to: it may have found one of them gone, or back. */
  follow(names: readonly string[], call: Promise<unknown>): void;
}

/** A source that is down does not stop the service: it is tried again whenever somebody needs it. */
export function openConnectionStatus(engine: Engine, report: Report): ConnectionStatus {
  const opened = new Set<string>();
  const failed = new Map<string, string>();
  const noteDown = (name: string, error: unknown): void => {
    const message = reasonOf(error);
    if (failed.get(name) !== message) report({ kind: "connection-down", connection: name, message });
    failed.set(name, message);
  };
  const noteUp = (name: string): void => {
    if (failed.delete(name)) report({ kind: "connection-up", connection: name });
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
    down: () => failed,
    follow(names, call) {
      call.then(
        () => {
          if (failed.size > 0) for (const name of names) noteUp(name);
        },
        (error: unknown) => {
          if (error instanceof RequestFailure && error.failure.kind === "connection-down")
            noteDown(error.failure.connection, error);
        },
      );
    },
  };
}

/** What the database said, on one line; the failure itself carries only the connection's name. */
export function reasonOf(error: unknown): string {
  const cause = error instanceof RequestFailure ? error.cause : error;
  return oneLine(errorMessage(cause));
}
