/** A shared resource with a total limit, and a limit per client, so that no client can use all of it. */
export interface ClientQuota {
  /** Takes an amount. Returns false, and takes nothing, if that would exceed a limit. */
  take(client: string, amount: number): boolean;
  /** Gives back an amount that the client has taken. */
  release(client: string, amount: number): void;
  /** The amount that a client has taken. */
  takenBy(client: string): number;
}

export interface QuotaLimits {
  readonly total: number;
  readonly perClient: number;
}

/** Pass short keys for clients: they are kept in memory while the client holds anything. */
export function openClientQuota({ total, perClient }: QuotaLimits): ClientQuota {
  const amounts = new Map<string, number>();
  let taken = 0;
  const takenBy = (client: string): number => amounts.get(client) ?? 0;

  function add(client: string, amount: number): void {
    taken += amount;
    const held = takenBy(client) + amount;
    if (held === 0) amounts.delete(client);
    else amounts.set(client, held);
  }

  return {
    take(client, amount) {
      const fits = taken + amount <= total && takenBy(client) + amount <= perClient;
      if (fits) add(client, amount);
      return fits;
    },
    release: (client, amount) => add(client, -amount),
    takenBy,
  };
}
