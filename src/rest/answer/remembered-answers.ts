import type { Rows } from "../../engines/engine.ts";
import type { WholeAnswer } from "./whole-answer.ts";

/**
 * Whole answers to requests that come again and again, for as long as nobody can have changed what they are made of. Most
 * keys come once: an answer is kept only when it is asked for a second time.
 */
export interface RememberedAnswers {
  /** The answer that the same request got, if it would get the same again. */
  find(key: string): WholeAnswer | undefined;
  /** Keeps the answer to a request if that is worth while, and if its rows can be watched. */
  offer(key: string, answer: WholeAnswer, watch: Rows["watch"]): void;
}

interface Kept {
  readonly answer: WholeAnswer;
  readonly isCurrent: () => boolean;
  readonly cost: number;
}

const KEPT_BYTES = 32 * 1024 * 1024;
/** One answer takes no more than this, so that many have room. */
const LARGEST_BYTES = 256 * 1024;
/** What an entry takes besides its body. */
const ENTRY_BYTES = 1024;
const LONGEST_KEY = 2048;
const SEEN_KEYS = 4096;

/** At most `limitBytes`, and never more than is good for a process. */
export function openRememberedAnswers(limitBytes = KEPT_BYTES): RememberedAnswers {
  const mostBytes = Math.min(limitBytes, KEPT_BYTES);
  // A Map remembers the order of insertion: the first entry is the one that was used longest ago.
  const kept = new Map<string, Kept>();
  const seen = new Set<string>();
  let bytes = 0;

  function forget(key: string, { cost }: Kept): void {
    if (kept.delete(key)) bytes -= cost;
  }

  function keep(key: string, entry: Kept): void {
    const old = kept.get(key);
    if (old !== undefined) forget(key, old);
    kept.set(key, entry);
    bytes += entry.cost;
    for (const [oldest, value] of kept) {
      if (bytes <= mostBytes) return;
      forget(oldest, value);
    }
  }

  return {
    find(key) {
      const found = kept.get(key);
      if (found === undefined) return undefined;
      if (!found.isCurrent()) {
        forget(key, found);
        return undefined;
      }
      kept.delete(key);
      kept.set(key, found);
      return found.answer;
    },
    offer(key, answer, watch) {
      if (key.length > LONGEST_KEY || answer.size > LARGEST_BYTES) return;
      if (!seen.has(key)) {
        if (seen.size >= SEEN_KEYS) seen.clear();
        seen.add(key);
        return;
      }
      // Beside the body itself, it is kept as it was compressed.
      const cost = answer.size * 2 + key.length * 2 + ENTRY_BYTES;
      void watch().then((isCurrent) => {
        if (isCurrent?.()) keep(key, { answer, isCurrent, cost });
      });
    },
  };
}
