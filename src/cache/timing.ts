/** When a cache is refreshed. `random` gives numbers from 0 up to 1. */
export interface Timing {
  /** After a refresh that took `spentMs`: a period after its beginning, so that a slow refresh does not stretch it. */
  next(scheduleMs: number, spentMs: number): number;
  /** At start, for rows of this age. What is too old comes soon, but not everything at once. */
  first(scheduleMs: number, ageMs: number): number;
  /** After so many failures in a row. */
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
      // The exponent stays small: a number that is too large for a timer is of no use.
      return jittered(Math.min(longest, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 20)));
    },
  };
}

/** How long rows are good after they came: two periods later a refresh has been missed. One that takes long may do so again. */
export function goodFor(scheduleMs: number | undefined, spentMs: number): number {
  return scheduleMs === undefined ? Number.POSITIVE_INFINITY : 2 * scheduleMs + spentMs;
}
