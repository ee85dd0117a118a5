import type { Chunk } from "../result/chunk.ts";
import type { Column } from "../result/column.ts";

/** Rows on their way. Whoever holds it calls `next` to the end or `close`. */
export interface Rows {
  readonly columns: readonly Column[];
  readonly total: number | undefined;
  /**
   * A way to ask later whether the same read would still give the same rows: true as long as nobody can have changed
   * them. Undefined when nobody can know: files, other databases, the time.
   */
  watch(): Promise<(() => boolean) | undefined>;
  /** The next rows, undefined after the last. Rejects when the query failed on the way: what came before is then incomplete. */
  next(): Promise<Chunk | undefined>;
  close(): Promise<void>;
}

/** For rows that may change without our knowing. */
export const NOT_WATCHED: Rows["watch"] = () => Promise.resolve(undefined);

/** What a change came to. It is durable. */
export interface WriteResult {
  /** Rows that were inserted, updated, deleted or merged, of all statements together. */
  readonly rowsAffected: number;
  /** Absent when no rows are wanted, and when no statement returns any. */
  readonly rows: Rows | undefined;
}
