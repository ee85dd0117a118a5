import { openLru } from "../../bounded/lru.ts";
import type { Rows } from "../../engines/rows.ts";
import type { WholeResponse } from "./whole-response.ts";

/**
 * Caches whole responses while their data is unchanged. Most requests are never repeated, so a response is cached only at
 * its second request.
 */
export interface ResponseCache {
  /** The cached response, if it is still current. */
  find(key: string): WholeResponse | undefined;
  /** Caches a response of this size if it is small, was requested before, and changes to its data can be detected. */
  offer(key: string, size: number, watch: Rows["watch"], responseOf: () => WholeResponse): void;
}

interface ResponseCacheEntry {
  readonly response: WholeResponse;
  readonly isCurrent: () => boolean;
}

const MAX_BYTES = 32 * 1024 * 1024;
/** Larger responses are not cached, to leave room for many. */
const MAX_RESPONSE_BYTES = 256 * 1024;
/** Overhead of an entry, besides its body. */
const ENTRY_BYTES = 1024;
const MAX_KEY_LENGTH = 2048;
/** Room for about ten thousand keys that were requested once. */
const MAX_SEEN_BYTES = 4 * 1024 * 1024;

/** Uses at most `limitBytes`, and never more than 32 MiB. */
export function openResponseCache(limitBytes = MAX_BYTES): ResponseCache {
  const maxBytes = Math.min(limitBytes, MAX_BYTES);
  const entries = openLru<ResponseCacheEntry>({ maxBytes, maxEntryBytes: maxBytes, bytesOf: bytesOfResponse });
  const seen = openLru<true>({ maxBytes: MAX_SEEN_BYTES });
  return {
    find(key) {
      const found = entries.get(key);
      if (found === undefined || found.isCurrent()) return found?.response;
      entries.delete(key);
      return undefined;
    },
    offer(key, size, watch, responseOf) {
      if (key.length > MAX_KEY_LENGTH || size > MAX_RESPONSE_BYTES) return;
      if (seen.get(key) === undefined) {
        seen.set(key, true);
        return;
      }
      const response = responseOf();
      void watch().then((data) => {
        if (data?.isUnchanged()) entries.set(key, { response, isCurrent: data.isUnchanged });
      });
    },
  };
}

/** An entry also holds its compressed body. */
function bytesOfResponse({ response }: ResponseCacheEntry): number {
  return response.size * 2 + ENTRY_BYTES;
}
