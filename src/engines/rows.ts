import type { Chunk } from "../result/chunk.ts";
import type { Column } from "../result/column.ts";

/** The rows of a query. The consumer calls `next` until the end, or `close`. */
export interface Rows {
  readonly columns: readonly Column[];
  readonly total: number | undefined;
  /**
   * Resolves to a function that returns true as long as the same read would return the same rows.
   * Undefined where Eider cannot know: files, other databases, the time.
   */
  watch(): Promise<(() => boolean) | undefined>;
  /** The next rows, undefined after the last. Rejects if the query fails: the rows so far are then incomplete. */
  next(): Promise<Chunk | undefined>;
  close(): Promise<void>;
}

/** For rows that may change without Eider knowing. */
export const NOT_WATCHED: Rows["watch"] = () => Promise.resolve(undefined);

/** The result of a write. It is durable. */
export interface WriteResult {
  /** Rows that were inserted, updated, deleted or merged, by all statements together. */
  readonly rowsAffected: number;
  /** Undefined when no rows are wanted or no statement returns any. */
  readonly rows: Rows | undefined;
}
