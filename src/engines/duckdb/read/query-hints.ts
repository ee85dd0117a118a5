import { type Lru, openLru } from "../../../bounded/lru.ts";

/** What earlier reads taught about SQL texts. A wrong hint costs time, never correctness. */
export interface QueryHints {
  /** Takes no LIMIT at its end (it has its own), or cannot even stand in a sub-query. */
  readonly form: Lru<"wrapped" | "alone">;
  /** Its first page is full, so that the total must be counted. */
  readonly fullPages: Lru<true>;
  /** All its rows fit into one chunk. */
  readonly small: Lru<true>;
}

/** For SQL texts of a thousand characters: four thousand of them. */
const MAX_BYTES = 8 * 1024 * 1024;

export function openQueryHints(): QueryHints {
  return {
    form: openLru({ maxBytes: MAX_BYTES }),
    fullPages: openLru({ maxBytes: MAX_BYTES }),
    small: openLru({ maxBytes: MAX_BYTES }),
  };
}
