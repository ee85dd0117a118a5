import type { Lease } from "../cache/caches.ts";
import type { Rows, WatchedData } from "../engines/rows.ts";
import { andThen } from "../eventually.ts";
import type { Chunk } from "../result/chunk.ts";
import type { Deadline } from "./deadline.ts";
import type { CallNotes } from "./observed-call.ts";

interface RowsCall {
  readonly deadline: Deadline;
  readonly observed: CallNotes;
}

/** Wraps the rows of a call: applies its deadline, counts them, and releases their snapshot when they are closed. */
export function callRows(rows: Rows, { deadline, observed }: RowsCall, lease: Lease | undefined): Rows {
  const next = (): ReturnType<Rows["next"]> => rows.next();
  const count = (chunk: Chunk | undefined): Chunk | undefined => {
    if (chunk !== undefined) observed.rows = (observed.rows ?? 0) + chunk.rows;
    return chunk;
  };
  const release = (): void => lease?.release();
  observed.rows = 0;
  return {
    columns: rows.columns,
    total: rows.total,
    next: () => andThen(deadline.spend(next), count),
    watch: lease === undefined ? rows.watch : () => watchLeased(rows, lease),
    close() {
      const closing = rows.close();
      return closing instanceof Promise ? deadline.abandonIfStuck(closing).finally(release) : release();
    },
  };
}

/** Rows change when another snapshot replaces theirs. */
async function watchLeased(rows: Rows, lease: Lease): Promise<WatchedData | undefined> {
  const data = await rows.watch();
  return (
    data && {
      version: `${lease.snapshot.uid}.${data.version}`,
      isUnchanged: () => lease.isCurrent() && data.isUnchanged(),
    }
  );
}
