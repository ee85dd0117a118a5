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
  readonly since: number;
}

/** An identity provider. Its state is fetched when needed, and used until there is a newer one. */
export interface Provider {
  /** The last state. If it is old, it is renewed in the background. */
  current(): ProviderState | undefined;
  /** Waits for the first state. Undefined if the provider is down. */
  load(): Promise<ProviderState | undefined>;
  /** Fetches again, because `seen` lacks the key of a token. At most once per minute. */
  renew(seen: ProviderState): Promise<ProviderState | undefined>;
}

export interface ProviderOptions {
  readonly requests: ProviderClient;
  readonly now: () => number;
  readonly report: Report;
}

/** While a provider is down, requests do not retry more often. */
const RETRY_MS = 3_000;
const UNKNOWN_KEY_MS = 60_000;

export function openProvider(policy: OidcPolicy, { requests, now, report }: ProviderOptions): Provider {
  const dependency = openDependency(`oidc provider ${policy.issuerUrl}`, report);
  let known: ProviderState | undefined;
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
      const keys = readKeySet(await requests.getObject(metadata.keysUrl), known?.keys);
      if (keys.size === 0) throw new Error(`${metadata.keysUrl} lists no key for signatures`);
      known = { metadata, keys, since: now() };
      failedAt = undefined;
      dependency.up();
    } catch (error) {
      failedAt = now();
      const instead = known === undefined ? "clients with tokens get 503" : "the keys that are known stay in use";
      dependency.down(`${errorMessage(error)}; ${instead} until it is back`);
    }
  }

  /** Concurrent calls share one request. */
  function fetchShared(): Promise<void> {
    fetching ??= fetchState().finally(() => {
      fetching = undefined;
    });
    return fetching;
  }

  function current(): ProviderState | undefined {
    const isOld = known !== undefined && hasPassed(known.since, policy.keysMaxAgeMs);
    if (isOld && hasPassed(failedAt, RETRY_MS)) void fetchShared();
    return known;
  }

  return {
    current,
    async load() {
      if (known !== undefined) return current();
      if (fetching !== undefined || hasPassed(failedAt, RETRY_MS)) await fetchShared();
      return known;
    },
    async renew(seen) {
      if (known !== seen) return known;
      if (fetching === undefined) {
        if (!hasPassed(renewedAt, UNKNOWN_KEY_MS)) return known;
        renewedAt = now();
      }
      await fetchShared();
      return known;
    },
  };
}
