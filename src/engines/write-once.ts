import type { WriteResult } from "./rows.ts";

/** Where the record of a write with an idempotency key is kept. */
export type RecordStore =
  /** In memory: the tables that the write changes are in memory too. */
  | { readonly kind: "memory" }
  /** In the database that the write changes, committed with the change. */
  | { readonly kind: "database"; readonly name: string; readonly type: string }
  /** Nowhere: a record could not be committed together with the change. */
  | { readonly kind: "none"; readonly reason: string };

/** How much of a write is committed. */
export interface WriteProgress {
  /** A hash of the request. */
  readonly request: string;
  /** How many changing statements are committed, if each commits by itself. `all`: the write is done, with its response. */
  readonly done: number | "all";
  readonly rowsAffected: number;
  /** Until `done` is `all`: the response so far, if a statement returned rows. */
  readonly response: string | undefined;
}

/** How a write runs once, however often the client sends it. */
export interface WriteOnce {
  readonly store: Exclude<RecordStore, { readonly kind: "none" }>;
  /** A hash of the key and its scope: the same when the request is sent again. */
  readonly id: string;
  /** A hash of the request itself. */
  readonly request: string;
  /** The current time in milliseconds. */
  readonly now: number;
  /** Records from before this time (in milliseconds) are expired. */
  readonly oldest: number;
  /** The record, if the store is memory. */
  readonly memory: {
    get(): WriteProgress | undefined;
    /** Called right after each commit. */
    set(progress: WriteProgress): void;
  };
  /** Encodes the response. `earlier` is that of the statements that an earlier request committed, if they returned rows. */
  encode(written: WriteResult, earlier: string | undefined): Promise<string>;
}

export interface WriteOnceResult {
  readonly response: string;
  readonly rowsAffected: number;
  /** False if an earlier request had already done the write: nothing ran. */
  readonly ran: boolean;
}
