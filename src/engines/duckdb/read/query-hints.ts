import { type Lru, openLru } from "../../../bounded/lru.ts";

/** What earlier reads revealed about SQL texts. A wrong hint costs time, never correctness. */
export interface QueryHints {
  /** `wrapped`: a LIMIT cannot be appended, since it has its own. `alone`: it cannot be a sub-query either. */
  readonly form: Lru<"wrapped" | "alone">;
  /** Its first page is full, so the total must be counted. */
  readonly fullPages: Lru<true>;
  /** All its rows fit into one chunk. */
  readonly small: Lru<true>;
}

/** Four thousand SQL texts of a thousand characters. */
const MAX_BYTES = 8 * 1024 * 1024;

export function openQueryHints(): QueryHints {
  return {
    form: openLru({ maxBytes: MAX_BYTES }),
    fullPages: openLru({ maxBytes: MAX_BYTES }),
    small: openLru({ maxBytes: MAX_BYTES }),
  };
}
