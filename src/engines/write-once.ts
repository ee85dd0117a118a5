import type { WriteResult } from "./rows.ts";

/** Where the record of a write with an idempotency key is kept. */
export type RecordStore =
  /** In memory: the tables that it changes are in memory too. */
  | { readonly kind: "memory" }
  /** In the database that it changes, committed with the change. */
  | { readonly kind: "database"; readonly name: string; readonly type: string }
  /** Nowhere: a record could not be committed together with the change. */
  | { readonly kind: "none"; readonly reason: string };

/** How much of a write is committed. */
export interface WriteProgress {
  /** A hash of the request. */
  readonly request: string;
  /** Changing statements, from the first, of those that commit by themselves. `all`: the response is there too. */
  readonly done: number | "all";
  readonly rowsAffected: number;
  /** Before the end: the response so far when a statement returned rows. */
  readonly response: string | undefined;
}

/** How a write runs once, however often the client sends it. */
export interface WriteOnce {
  readonly store: Exclude<RecordStore, { readonly kind: "none" }>;
  /** A hash of the key and its scope: the same when the request is sent again. */
  readonly id: string;
  /** A hash of the request itself. */
  readonly request: string;
  /** Milliseconds. */
  readonly now: number;
  /** Records from before are expired. */
  readonly oldest: number;
  /** The record, where memory is the store of it. */
  readonly memory: {
    get(): WriteProgress | undefined;
    /** Called right after each commit. */
    set(progress: WriteProgress): void;
  };
  /** The response; `earlier` is that of the statements which an earlier request committed, when they returned rows. */
  encode(written: WriteResult, earlier: string | undefined): Promise<string>;
}

export interface WriteOnceResult {
  readonly response: string;
  readonly rowsAffected: number;
  /** False: an earlier request did it, nothing ran. */
  readonly ran: boolean;
}
