import type { CacheName } from "./cache.ts";

/** What a write does to a cache. `invalidate`: the next read refreshes it. `refresh`: the write itself does. */
export type WriteAction = "invalidate" | "refresh";

/** A durable note that a cache may lack the rows of a write. */
export interface StaleMark {
  readonly name: CacheName;
  readonly uid: string;
  readonly action: WriteAction;
}

/** The marks in the cache database. All methods reject with a RequestFailure. */
export interface StaleMarks {
  load(): Promise<readonly StaleMark[]>;
  /** Returns the uid of a new mark. Once it resolves, the mark survives a crash. */
  add(name: CacheName, action: WriteAction): Promise<string>;
  remove(uids: readonly string[]): Promise<void>;
}
