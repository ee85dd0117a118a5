/** Where a key stands in its window, after counting. */
export interface Count {
  readonly consumed: number;
  readonly endsInMs: number;
}

export interface CountLimit {
  /** What is counted beyond it is refused; a counter may need to know whom it must not forget. */
  readonly max: number;
  readonly windowSeconds: number;
}

/** Counts in fixed windows: a key's window begins when it is counted first. */
export interface Counter {
  count(key: string, points: number, limit: CountLimit): Count | Promise<Count>;
  close(): Promise<void>;
}
