import { errorMessage } from "../../error-message.ts";
import type { Report } from "../../events.ts";
import { openDependency } from "../dependency.ts";
import type { OidcPolicy } from "../policy.ts";
import { type KeySet, readKeySet } from "./key-set.ts";
import { discoveryUrl, type Metadata, readMetadata } from "./metadata.ts";
import type { ProviderClient } from "./provider-client.ts";

/** The last valid metadata and keys of a provider. */
export interface ProviderState {
  readonly metadata: Metadata;
  readonly keys: KeySet;
  /** When they were fetched. */
  readonly fetchedAt: number;
}

/** An identity provider. Its state is fetched on demand, and used until a newer one has been fetched. */
export interface Provider {
  /** The last state; undefined if there is none yet. If it is too old, fetches a new one in the background. */
  current(): ProviderState | undefined;
  /** Like `current`, but waits for the first state. Undefined if the provider is down. */
  load(): Promise<ProviderState | undefined>;
  /** Fetches a new state, because `seen` lacks the key of a token. At most once per minute; otherwise returns the last state. */
  renew(seen: ProviderState): Promise<ProviderState | undefined>;
}

export interface ProviderOptions {
  readonly requests: ProviderClient;
  readonly now: () => number;
  readonly report: Report;
}

/** How long to wait after a failed fetch before the next one. */
const RETRY_MS = 3_000;
/** The shortest time between two fetches because of unknown keys. */
const UNKNOWN_KEY_MS = 60_000;

export function openProvider(policy: OidcPolicy, { requests, now, report }: ProviderOptions): Provider {
  const dependency = openDependency(`oidc provider ${policy.issuerUrl}`, report);
  let last: ProviderState | undefined;
  let fetching: Promise<void> | undefined;
  let failedAt: number | undefined;
  let renewedAt: number | undefined;

  /** Whether `ms` milliseconds have passed since then. Also true if the clock was set back, to avoid a long wait. */
  function hasPassed(since: number | undefined, ms: number): boolean {
    if (since === undefined) return true;
    const elapsed = now() - since;
    return elapsed < 0 || elapsed >= ms;
  }

  async function fetchState(): Promise<void> {
    try {
      const metadata = readMetadata(policy, await requests.getObject(discoveryUrl(policy)));
      const keys = readKeySet(await requests.getObject(metadata.keysUrl), last?.keys);
      if (keys.size === 0) throw new Error(`${metadata.keysUrl} contains no signing key`);
      last = { metadata, keys, fetchedAt: now() };
      failedAt = undefined;
      dependency.up();
    } catch (error) {
      failedAt = now();
      const instead = last === undefined ? "requests with tokens get 503" : "the last keys stay in use";
      dependency.down(`${errorMessage(error)}; ${instead} until it is back`);
    }
  }

  /** Concurrent calls share one fetch. */
  function fetchShared(): Promise<void> {
    fetching ??= fetchState().finally(() => {
      fetching = undefined;
    });
    return fetching;
  }

  function current(): ProviderState | undefined {
    const isOld = last !== undefined && hasPassed(last.fetchedAt, policy.keysMaxAgeMs);
    if (isOld && hasPassed(failedAt, RETRY_MS)) void fetchShared();
    return last;
  }

  return {
    current,
    async load() {
      if (last !== undefined) return current();
      if (fetching !== undefined || hasPassed(failedAt, RETRY_MS)) await fetchShared();
      return last;
    },
    async renew(seen) {
      if (last !== seen) return last;
      if (fetching === undefined) {
        if (!hasPassed(renewedAt, UNKNOWN_KEY_MS)) return last;
        renewedAt = now();
      }
      await fetchShared();
      return last;
    },
  };
}
