/** Where a key stands in its window, after counting. */
export interface Count {
  readonly consumed: number;
  readonly endsInMs: number;
}

/** Counts in fixed windows: a key's window begins when it is counted first. */
export interface Counter {
  count(key: string, points: number, windowSeconds: number): Promise<Count>;
  close(): Promise<void>;
}
