/** A shared resource with a total limit, and a limit per client, so that no client can use all of it. */
export interface ClientQuota {
  /** Takes an amount. False if a limit is reached. */
  take(client: string, amount: number): boolean;
  /** Returns an amount. */
  release(client: string, amount: number): void;
  /** The amount that a client has taken. */
  of(client: string): number;
}

export interface QuotaLimits {
  readonly total: number;
  readonly perClient: number;
}

/** Clients are identified by short keys. Clients that hold nothing are not stored. */
export function openClientQuota({ total, perClient }: QuotaLimits): ClientQuota {
  const amounts = new Map<string, number>();
  let taken = 0;
  const of = (client: string): number => amounts.get(client) ?? 0;

  function add(client: string, amount: number): void {
    taken += amount;
    const held = of(client) + amount;
    if (held === 0) amounts.delete(client);
    else amounts.set(client, held);
  }

  return {
    take(client, amount) {
      const fits = taken + amount <= total && of(client) + amount <= perClient;
      if (fits) add(client, amount);
      return fits;
    },
    release: (client, amount) => add(client, -amount),
    of,
  };
}
