/** A histogram: counts by upper bound. Plain numbers, so that counting is cheap. */
export interface Timings {
  readonly bounds: readonly number[];
  /** Counts per bound, not cumulative. The last one is for values above all bounds. */
  readonly counts: Float64Array;
  sum: number;
}

/** In seconds, from a cached response to a very long query. */
export const callBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;

export function openTimings(bounds: readonly number[]): Timings {
  return { bounds, counts: new Float64Array(bounds.length + 1), sum: 0 };
}

export function addTiming(timings: Timings, seconds: number): void {
  const { bounds, counts } = timings;
  let index = 0;
  while (index < bounds.length && seconds > (bounds[index] ?? 0)) index++;
  counts[index] = (counts[index] ?? 0) + 1;
  timings.sum += seconds;
}
