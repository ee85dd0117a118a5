/** Counts wrong credentials by address, so that nobody can try many. */
export interface FailedAttempts {
  /** Seconds until this address may try again; nothing while it may. */
  blockedFor(address: string): number | undefined;
  failed(address: string): void;
}

export interface FailedAttemptsOptions {
  readonly now: () => number;
  /** So many within the window, and no more. */
  readonly max?: number;
  readonly windowMs?: number;
  /** More addresses than these are not kept: the oldest goes. */
  readonly maxAddresses?: number;
}

interface Window {
  readonly since: number;
  failures: number;
}

export function openFailedAttempts({
  now,
  max = 100,
  windowMs = 60_000,
  maxAddresses = 10_000,
}: FailedAttemptsOptions): FailedAttempts {
  // A Map remembers the order of insertion, and every window is as long: the first one ends first.
  const windows = new Map<string, Window>();

  function windowOf(address: string): Window | undefined {
    const window = windows.get(address);
    if (window === undefined) return undefined;
    const age = now() - window.since;
    // A clock that was set back must not lock anybody out for hours.
    if (age >= 0 && age < windowMs) return window;
    windows.delete(address);
    return undefined;
  }

  return {
    blockedFor(address) {
      const window = windowOf(address);
      if (window === undefined || window.failures < max) return undefined;
      return Math.ceil((window.since + windowMs - now()) / 1000);
    },
    failed(address) {
      const window = windowOf(address);
      if (window !== undefined) {
        window.failures++;
        return;
      }
      windows.set(address, { since: now(), failures: 1 });
      if (windows.size <= maxAddresses) return;
      for (const oldest of windows.keys()) {
        windows.delete(oldest);
        return;
      }
    },
  };
}
