/** Computes the milliseconds until the next refresh of a cache. */
export interface Timing {
  /** After a refresh that took `spentMs`: one period after its start, so that a slow refresh does not delay the next. */
  next(scheduleMs: number, spentMs: number): number;
  /** At startup, for rows of this age. Old ones are refreshed soon, but not all at once. */
  first(scheduleMs: number, ageMs: number): number;
  /** After this many failures in a row. */
  retry(scheduleMs: number | undefined, failures: number): number;
}

const JITTER = 0.1;
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 5 * 60_000;
const MAX_SPREAD_MS = 60_000;

/** `random` returns numbers from 0 to 1. */
export function openTiming(random: () => number): Timing {
  const jittered = (ms: number): number => ms * (1 - JITTER + 2 * JITTER * random());
  return {
    // A refresh that takes longer than its period must not run without a pause.
    next: (scheduleMs, spentMs) => Math.max(scheduleMs * JITTER, jittered(scheduleMs) - spentMs),
    first: (scheduleMs, ageMs) =>
      Math.max(jittered(scheduleMs) - ageMs, random() * Math.min(scheduleMs * JITTER, MAX_SPREAD_MS)),
    retry(scheduleMs, failures) {
      const longest = Math.min(scheduleMs ?? MAX_RETRY_MS, MAX_RETRY_MS);
      // The exponent stays small, so that the delay fits a timer.
      return jittered(Math.min(longest, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 20)));
    },
  };
}

/** How long rows stay fresh: two periods, plus the duration of the last refresh. */
export function freshForMs(scheduleMs: number | undefined, spentMs: number): number {
  return scheduleMs === undefined ? Number.POSITIVE_INFINITY : 2 * scheduleMs + spentMs;
}
