import { type Lru, openLru } from "../../../bounded/lru.ts";

/** What earlier reads revealed about queries, by their SQL. A wrong hint costs time, never correctness. */
export interface QueryHints {
  /** `wrapped`: a LIMIT cannot be appended, since the query has its own. `alone`: it cannot be a sub-query either. */
  readonly form: Lru<"wrapped" | "alone">;
  /** Queries whose first page is full, so the total must be counted. */
  readonly fullPages: Lru<true>;
  /** Queries whose rows all fit into one chunk. */
  readonly small: Lru<true>;
}

/** Room for about four thousand SQL strings of a thousand characters. */
const MAX_BYTES = 8 * 1024 * 1024;

export function openQueryHints(): QueryHints {
  return {
    form: openLru({ maxBytes: MAX_BYTES }),
    fullPages: openLru({ maxBytes: MAX_BYTES }),
    small: openLru({ maxBytes: MAX_BYTES }),
  };
}
