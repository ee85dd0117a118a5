import { openLru } from "../../bounded/lru.ts";
import type { Rows } from "../../engines/rows.ts";
import type { WholeResponse } from "./whole-response.ts";

/**
 * Whole answers to requests that come again and again, for as long as nobody can have changed what they are made of. Most
 * keys come once: an answer is kept only when it is asked for a second time.
 */
export interface ResponseCache {
  /** The answer that the same request got, if it would get the same again. */
  find(key: string): WholeResponse | undefined;
  /** Keeps the answer to a request if that is worth while, and if its rows can be watched. */
  offer(key: string, answer: WholeResponse, watch: Rows["watch"]): void;
}

interface ResponseCacheEntry {
  readonly answer: WholeResponse;
  readonly isCurrent: () => boolean;
}

const KEPT_BYTES = 32 * 1024 * 1024;
/** One answer takes no more than this, so that many have room. */
const LARGEST_BYTES = 256 * 1024;
/** What an entry takes besides its body. */
const ENTRY_BYTES = 1024;
const LONGEST_KEY = 2048;
/** Some ten thousand requests that came once. */
const SEEN_BYTES = 4 * 1024 * 1024;

/** At most `limitBytes`, and never more than is good for a process. */
export function openResponseCache(limitBytes = KEPT_BYTES): ResponseCache {
  const maxBytes = Math.min(limitBytes, KEPT_BYTES);
  const kept = openLru<ResponseCacheEntry>({ maxBytes, maxEntryBytes: maxBytes, bytesOf: bytesOfResponse });
  const seen = openLru<true>({ maxBytes: SEEN_BYTES });
  return {
    find(key) {
      const found = kept.get(key);
      if (found === undefined || found.isCurrent()) return found?.answer;
      kept.delete(key);
      return undefined;
    },
    offer(key, answer, watch) {
      if (key.length > LONGEST_KEY || answer.size > LARGEST_BYTES) return;
      if (seen.get(key) === undefined) {
        seen.set(key, true);
        return;
      }
      void watch().then((isCurrent) => {
        if (isCurrent?.()) kept.set(key, { answer, isCurrent });
      });
    },
  };
}

/** Beside the body itself, it is kept as it was compressed. */
function bytesOfResponse({ answer }: ResponseCacheEntry): number {
  return answer.size * 2 + ENTRY_BYTES;
}
