/** When a cache is refreshed. `random` returns numbers from 0 to 1. */
export interface Timing {
  /** After a refresh that took `spentMs`: one period after its start, so that a slow refresh does not delay the next. */
  next(scheduleMs: number, spentMs: number): number;
  /** At startup, for rows of this age. Stale ones are refreshed soon, but not all at once. */
  first(scheduleMs: number, ageMs: number): number;
  /** After this many failures in a row. */
  retry(scheduleMs: number | undefined, failures: number): number;
}

const JITTER = 0.1;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 5 * 60_000;
const LONGEST_SPREAD_MS = 60_000;

export function openTiming(random: () => number): Timing {
  const jittered = (ms: number): number => ms * (1 - JITTER + 2 * JITTER * random());
  return {
    // A refresh that takes longer than its period must not run without a pause.
    next: (scheduleMs, spentMs) => Math.max(scheduleMs * JITTER, jittered(scheduleMs) - spentMs),
    first: (scheduleMs, ageMs) =>
      Math.max(jittered(scheduleMs) - ageMs, random() * Math.min(scheduleMs * JITTER, LONGEST_SPREAD_MS)),
    retry(scheduleMs, failures) {
      const longest = Math.min(scheduleMs ?? LAST_RETRY_MS, LAST_RETRY_MS);
      // The exponent stays small, so that the delay fits a timer.
      return jittered(Math.min(longest, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 20)));
    },
  };
}

/** How long rows stay fresh: two periods, plus the time of a slow refresh. */
export function freshForMs(scheduleMs: number | undefined, spentMs: number): number {
  return scheduleMs === undefined ? Number.POSITIVE_INFINITY : 2 * scheduleMs + spentMs;
}
