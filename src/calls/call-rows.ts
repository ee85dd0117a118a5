import type { Lease } from "../cache/caches.ts";
import type { Rows } from "../engines/rows.ts";
import type { Chunk } from "../result/chunk.ts";
import type { Deadline } from "./deadline.ts";
import type { CallNotes } from "./observed-call.ts";

interface RowsCall {
  readonly deadline: Deadline;
  readonly observed: CallNotes;
}

/** Wraps the rows of a call: applies its deadline, counts them, and releases their snapshot when they are closed. */
export function callRows(rows: Rows, { deadline, observed }: RowsCall, lease: Lease | undefined): Rows {
  const next = (): Promise<Chunk | undefined> => rows.next();
  observed.rows = 0;
  return {
    ...rows,
    async next() {
      const chunk = await deadline.spend(next);
      if (chunk !== undefined) observed.rows = (observed.rows ?? 0) + chunk.rows;
      return chunk;
    },
    watch: lease === undefined ? rows.watch : () => watchLeased(rows, lease),
    async close() {
      try {
        await deadline.abandonIfStuck(rows.close());
      } finally {
        lease?.release();
      }
    },
  };
}

/** Rows change when another snapshot replaces theirs. */
async function watchLeased(rows: Rows, lease: Lease): Promise<(() => boolean) | undefined> {
  const isUnchanged = await rows.watch();
  return isUnchanged && (() => lease.isCurrent() && isUnchanged());
}
