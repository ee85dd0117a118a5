/** The state of a key's window, after counting. */
export interface Count {
  readonly consumed: number;
  readonly endsInMs: number;
}

export interface CountLimit {
  /** The number of allowed requests. A counter must not evict clients that have reached it. */
  readonly max: number;
  readonly windowSeconds: number;
}

/** Counts in fixed windows. The window of a key starts when it is first counted. */
export interface Counter {
  count(key: string, points: number, limit: CountLimit): Count | Promise<Count>;
  close(): Promise<void>;
}
