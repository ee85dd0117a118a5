/** Where a key stands in its window, after counting. */
export interface Count {
  readonly consumed: number;
  readonly endsInMs: number;
}

export interface CountLimit {
  /** Requests beyond it are rejected; a counter must not evict clients that have reached it. */
  readonly max: number;
  readonly windowSeconds: number;
}

/** Counts in fixed windows: a key's window begins when it is counted first. */
export interface Counter {
  count(key: string, points: number, limit: CountLimit): Count | Promise<Count>;
  close(): Promise<void>;
}
