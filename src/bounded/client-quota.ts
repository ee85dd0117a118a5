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
  const parts = new Map<string, number>();
  let taken = 0;
  const of = (client: string): number => parts.get(client) ?? 0;

  function add(client: string, amount: number): void {
    taken += amount;
    const part = of(client) + amount;
    if (part === 0) parts.delete(client);
    else parts.set(client, part);
  }

  return {
    take(client, amount) {
      const isFree = taken + amount <= total && of(client) + amount <= perClient;
      if (isFree) add(client, amount);
      return isFree;
    },
    release: (client, amount) => add(client, -amount),
    of,
  };
}
