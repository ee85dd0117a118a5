import { type RecentMap, recentMap } from "./recent-map.ts";

/** What earlier reads taught about SQL texts. A wrong memory costs time, never a wrong answer. */
export interface ReadMemory {
  /** Cannot stand in a sub-query: PRAGMA, CALL, EXPLAIN. */
  readonly standsAlone: RecentMap<string, true>;
  /** Its first page is full, so that the total must be counted. */
  readonly fullPages: RecentMap<string, true>;
  /** All its rows fit into one chunk. */
  readonly small: RecentMap<string, true>;
}

const REMEMBERED_TEXTS = 1000;

export function readMemory(): ReadMemory {
  return {
    standsAlone: recentMap(REMEMBERED_TEXTS),
    fullPages: recentMap(REMEMBERED_TEXTS),
    small: recentMap(REMEMBERED_TEXTS),
  };
}
