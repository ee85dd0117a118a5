/** What was seen of the program within one interval. Sizes in MiB, times in milliseconds. */
export interface Sample {
  readonly second: number;
  readonly rss: number;
  readonly heap: number;
  readonly descriptors: number;
  readonly threads: number;
  readonly answers: number;
  /** Not a number when there was no answer. */
  readonly p50: number;
  readonly p99: number;
}

/** A figure, compared between the middle third of a run and its last; in the first third the program warms up. */
export interface Compared {
  readonly name: string;
  readonly middle: number;
  readonly last: number;
  /** What it may have become by then. */
  readonly bound: number;
}

interface Figure {
  readonly name: keyof Sample;
  /** Of all samples of a third: the one that stands for it. */
  readonly of: (values: readonly number[]) => number;
  readonly bound: (middle: number) => number;
}

/** In a run of minutes memory still grows to its level; what is left out of account then, a long run finds. */
const LONG_SECONDS = 600;

/** Neighbours on the machine make some intervals slow: a median of intervals is steady, and what leaks moves it. */
function figures(seconds: number): readonly Figure[] {
  const isLong = seconds >= LONG_SECONDS;
  return [
    { name: "rss", of: median, bound: (mib) => (isLong ? mib * 1.08 + 24 : mib * 1.2 + 64) },
    // It goes up and down with every collection: its low tide tells what stays.
    { name: "heap", of: (values) => quantile(values, 0.25), bound: (mib) => mib * (isLong ? 1.2 : 1.5) + 8 },
    { name: "descriptors", of: median, bound: (count) => count + 5 },
    { name: "threads", of: median, bound: (count) => count + 2 },
    { name: "p50", of: median, bound: (ms) => ms * 2 + 2 },
    { name: "p99", of: median, bound: (ms) => ms * 3 + 25 },
  ];
}

/** Holds the last third of a run against the one before. */
export function compareThirds(samples: readonly Sample[]): readonly Compared[] {
  const third = Math.floor(samples.length / 3);
  const seconds = samples.at(-1)?.second ?? 0;
  return figures(seconds).map(({ name, of, bound }) => {
    const standing = (part: readonly Sample[]): number =>
      of(part.map((sample) => sample[name]).filter(Number.isFinite));
    const middle = standing(samples.slice(third, third * 2));
    return { name, middle, last: standing(samples.slice(third * 2)), bound: bound(middle) };
  });
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}
