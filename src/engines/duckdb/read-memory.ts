import { type RecentMap, recentMap } from "./recent-map.ts";

/** What earlier reads taught about SQL texts. A wrong memory costs time, never a wrong answer. */
export interface ReadMemory {
  /** Takes no LIMIT at its end (it has its own), or cannot even stand in a sub-query. */
  readonly form: RecentMap<string, "wrapped" | "alone">;
  /** Its first page is full, so that the total must be counted. */
  readonly fullPages: RecentMap<string, true>;
  /** All its rows fit into one chunk. */
  readonly small: RecentMap<string, true>;
}

const REMEMBERED_TEXTS = 1000;

export function readMemory(): ReadMemory {
  return {
    form: recentMap(REMEMBERED_TEXTS),
    fullPages: recentMap(REMEMBERED_TEXTS),
    small: recentMap(REMEMBERED_TEXTS),
  };
}
