import { oneLine } from "../config/problem.ts";
import type { Engine } from "../engines/engine.ts";
import type { Report } from "../events.ts";
import { RequestFailure } from "../failure.ts";

/** The connections of a project: which are open, which cannot be reached and why. */
export interface Sources {
  /** Opens what is not open yet. Rejects with a RequestFailure `source-down`. */
  open(names: readonly string[]): Promise<void>;
  isOpen(name: string): boolean;
  /** Those that failed last time, with the reason (without secrets). */
  down(): ReadonlyMap<string, string>;
}

/** A source that is down does not stop the service: it is tried again whenever somebody needs it. */
export function openSources(engine: Engine, report: Report): Sources {
  const opened = new Set<string>();
  const failed = new Map<string, string>();
  const openOne = async (name: string): Promise<void> => {
    try {
      await engine.openConnection(name);
      opened.add(name);
      if (failed.delete(name)) report({ kind: "source-up", connection: name });
    } catch (error) {
      const message = reasonOf(error);
      if (failed.get(name) !== message) report({ kind: "source-down", connection: name, message });
      failed.set(name, message);
      throw error;
    }
  };
  return {
    async open(names) {
      for (const name of names) if (!opened.has(name)) await openOne(name);
    },
    isOpen: (name) => opened.has(name),
    down: () => failed,
  };
}

/** What the database said, on one line; the failure itself carries only the connection's name. */
export function reasonOf(error: unknown): string {
  const cause = error instanceof RequestFailure ? error.cause : error;
  return oneLine(cause instanceof Error ? cause.message : String(cause));
}
