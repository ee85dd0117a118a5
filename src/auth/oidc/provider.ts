import type { Report } from "../../events.ts";
import type { OidcPolicy } from "../policy.ts";
import { type KeySet, readKeySet } from "./key-set.ts";
import { discoveryUrl, type Metadata, readMetadata } from "./metadata.ts";
import type { Requests } from "./requests.ts";

/** What a provider told when it was asked last. */
export interface ProviderState {
  readonly metadata: Metadata;
  readonly keys: KeySet;
  readonly since: number;
}

/** An identity provider: asked when needed, and what it said is kept as long as it says nothing else. */
export interface Provider {
  /** What is known. What is old is renewed behind it, nobody waits. */
  current(): ProviderState | undefined;
  /** Waits for the first answer. Undefined when there is none. */
  load(): Promise<ProviderState | undefined>;
  /** Asks again, because `seen` lacks a key that a token names: at once, then once per minute at most; decisions 9. */
  renew(seen: ProviderState): Promise<ProviderState | undefined>;
}

export interface ProviderOptions {
  readonly requests: Requests;
  readonly now: () => number;
  readonly report: Report;
}

/** A provider that is down is not asked by every request. */
const RETRY_MS = 3_000;
const UNKNOWN_KEY_MS = 60_000;

export function openProvider(policy: OidcPolicy, { requests, now, report }: ProviderOptions): Provider {
  const dependency = `oidc provider ${policy.issuerUrl}`;
  let known: ProviderState | undefined;
  let asking: Promise<void> | undefined;
  let failedAt: number | undefined;
  let renewedAt: number | undefined;
  let down = false;

  /** A clock that was set back does not make us wait. */
  function passed(since: number | undefined, ms: number): boolean {
    if (since === undefined) return true;
    const elapsed = now() - since;
    return elapsed < 0 || elapsed >= ms;
  }

  async function askOnce(): Promise<void> {
    try {
      const metadata = readMetadata(policy, await requests.getObject(discoveryUrl(policy)));
      const keys = readKeySet(await requests.getObject(metadata.keysUrl), known?.keys);
      if (keys.size === 0) throw new Error(`${metadata.keysUrl} lists no key for signatures`);
      known = { metadata, keys, since: now() };
      failedAt = undefined;
      if (down) report({ kind: "dependency-up", dependency });
      down = false;
    } catch (error) {
      failedAt = now();
      if (down) return;
      down = true;
      const instead = known === undefined ? "callers with tokens get 503" : "the keys that are known stay in use";
      const reason = error instanceof Error ? error.message : "no answer";
      report({ kind: "dependency-down", dependency, message: `${reason}; ${instead} until it is back` });
    }
  }

  /** Whoever comes meanwhile waits for the same answer. */
  function ask(): Promise<void> {
    asking ??= askOnce().finally(() => {
      asking = undefined;
    });
    return asking;
  }

  function current(): ProviderState | undefined {
    const old = known !== undefined && passed(known.since, policy.keysMaxAgeMs);
    if (old && passed(failedAt, RETRY_MS)) void ask();
    return known;
  }

  return {
    current,
    async load() {
      if (known !== undefined) return current();
      if (asking !== undefined || passed(failedAt, RETRY_MS)) await ask();
      return known;
    },
    async renew(seen) {
      if (known !== seen) return known;
      if (asking === undefined) {
        if (!passed(renewedAt, UNKNOWN_KEY_MS)) return known;
        renewedAt = now();
      }
      await ask();
      return known;
    },
  };
}
