import type { Eventually } from "../eventually.ts";
import type { Chunk } from "../result/chunk.ts";
import type { Column } from "../result/column.ts";

/** The query of a read, and the data that its rows come from. */
export interface WatchedData {
  /** Reads with the same version return the same rows. Contains values of the request. */
  readonly version: string;
  isUnchanged(): boolean;
}

/** The rows of a query. The consumer calls `next` until the end, or `close`. */
export interface Rows {
  readonly columns: readonly Column[];
  readonly total: number | undefined;
  /** Undefined where Eider cannot know whether it changes: files, other databases, the time. */
  watch(): Promise<WatchedData | undefined>;
  /** The next rows, undefined after the last. Throws or rejects if the query fails: the rows so far are then incomplete. */
  next(): Eventually<Chunk | undefined>;
  close(): Eventually<void>;
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
