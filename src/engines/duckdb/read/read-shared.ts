import { withTimeLimit } from "../../../time-limit.ts";
import type { Read } from "../../engine.ts";
import type { Rows } from "../../rows.ts";
import type { DependencyFinder } from "../plan/dependencies.ts";
import type { DataVersions } from "../session/data-versions.ts";
import type { QueryHints } from "./query-hints.ts";
import { willBeHeld } from "./read.ts";
import { readKey } from "./read-key.ts";
import type { SharedReads } from "./shared-reads.ts";

export interface SharedReaderOptions {
  readonly hints: QueryHints;
  readonly versions: DataVersions;
  readonly dependencies: DependencyFinder;
  readonly sharedReads: SharedReads;
  readonly run: (read: Read) => Promise<Rows>;
}

/** How long a read waits to learn whether it may share another's execution. */
const MAX_SHARING_WAIT_MS = 1_000;

/** Returns a function that reads. Identical reads at the same time share one execution. */
export function sharedReader(options: SharedReaderOptions): (read: Read) => Promise<Rows> {
  const { hints, versions, dependencies, sharedReads, run } = options;
  return (read) => {
    const [only, ...others] = read.statements;
    if (only === undefined || others.length > 0 || !willBeHeld(read, hints)) return run(read);
    return sharedReads.read(readKey(read, versions.now()), {
      signal: read.signal,
      mayShare: () =>
        withTimeLimit(
          dependencies.of(only).then(({ shareable }) => shareable),
          MAX_SHARING_WAIT_MS,
          () => false,
        ),
      run: (signal) => run({ ...read, signal }),
    });
  };
}
