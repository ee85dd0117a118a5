import { type Lru, openLru } from "../../../bounded/lru.ts";

/** What earlier reads revealed about queries, by their SQL. A wrong hint costs time, never correctness. */
export interface QueryHints {
  /** `wrapped`: a LIMIT cannot be appended, since the query has its own. `alone`: it cannot be a sub-query either. */
  readonly form: Lru<"wrapped" | "alone">;
  /** The limit that a query was last read with. */
  readonly limit: Lru<number>;
  /** Queries whose first page is full, so the total must be counted. */
  readonly fullPages: Lru<true>;
  /**
   * How many rows a query returns. `few`: so far, they fitted into one chunk. `few-but-costly`: the same, but it needs much memory.
   * `varies`: sometimes they fit, sometimes not.
   */
  readonly size: Lru<"few" | "few-but-costly" | "varies">;
}

/** Room for about four thousand SQL strings of a thousand characters. */
const MAX_BYTES = 8 * 1024 * 1024;

export function openQueryHints(): QueryHints {
  return {
    form: openLru({ maxBytes: MAX_BYTES }),
    limit: openLru({ maxBytes: MAX_BYTES }),
    fullPages: openLru({ maxBytes: MAX_BYTES }),
    size: openLru({ maxBytes: MAX_BYTES }),
  };
}
