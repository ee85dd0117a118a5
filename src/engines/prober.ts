/** Asks database servers whether they respond. */
export interface Prober {
  /** Whether a connection has attached a database server that `probe` can reach. */
  canProbe(name: string): boolean;
  /**
   * Sends a statement to the database servers of a connection, outside the queue. It takes as long as they do, and cannot be
   * cancelled. Rejects with a RequestFailure; `connection-down` if one cannot be reached.
   */
  probe(name: string): Promise<void>;
  /** Call it when a connection hangs: the calls that wait for it no longer take query slots from others. */
  freeSlots(name: string): void;
}
