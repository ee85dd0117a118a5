import type { Engine } from "../engines/engine.ts";
import type { Report } from "../events.ts";
import type { Authenticator } from "./authenticator.ts";
import { type CountedUsers, inlineUsers, openBasic } from "./basic.ts";
import { openBearer } from "./bearer.ts";
import { openFailedAttempts } from "./failed-attempts.ts";
import { openHashing } from "./hashing.ts";
import { openOidc } from "./oidc/oidc.ts";
import type { AuthPolicy, BasicPolicy } from "./policy.ts";
import type { Environment } from "./secret-reader.ts";
import { openSecretUsers, type SecretUserSource } from "./secret-users.ts";

/** Every auth block of a project at work. */
export interface Authenticators {
  of(policy: AuthPolicy): Authenticator;
  /** What a start says of users that are not in the YAML. */
  readonly warnings: readonly { readonly policy: AuthPolicy; readonly message: string }[];
  close(): void;
}

export interface AuthenticatorOptions {
  readonly engine: Engine;
  readonly report: Report;
  readonly now: () => number;
  readonly fetch: typeof globalThis.fetch;
  readonly env: Environment;
}

/** Rejects with an Error that names the secret when users cannot be had. */
export async function openAuthenticators(
  policies: Iterable<AuthPolicy>,
  options: AuthenticatorOptions,
): Promise<Authenticators> {
  const opened = new Map<AuthPolicy, Authenticator>();
  // Blocks that say the same, as by an include, share what they remember.
  const bySettings = new Map<string, Authenticator>();
  const secrets: SecretUserSource[] = [];
  const oidcs: { close(): void }[] = [];
  const warnings: { policy: AuthPolicy; message: string }[] = [];
  // One bound for all: a flood against one block must not be a way around another's.
  const shared = { now: options.now, hashing: openHashing(), attempts: openFailedAttempts({ now: options.now }) };

  async function usersOf(policy: BasicPolicy): Promise<CountedUsers> {
    const inline = inlineUsers(policy.users);
    if (policy.secretUsers === undefined) return inline;
    const secret = await openSecretUsers(policy.secretUsers, options);
    secrets.push(secret);
    warnings.push(...secret.warnings.map((message) => ({ policy, message })));
    return {
      // Those in the YAML come first.
      find: (username) => inline.find(username) ?? secret.find(username),
      version: () => secret.version(),
      dearest: () => Math.max(inline.dearest?.() ?? 0, secret.dearest()),
    };
  }

  async function open(policy: AuthPolicy): Promise<Authenticator> {
    switch (policy.kind) {
      case "basic":
        return openBasic({ ...shared, users: await usersOf(policy) });
      case "bearer":
        return openBearer(policy, options);
      case "oidc": {
        const oidc = openOidc(policy, options);
        oidcs.push(oidc);
        // In the background: a provider that is down must not keep the service from starting.
        void oidc.loadKeys();
        return oidc;
      }
    }
  }

  function close(): void {
    for (const each of [...secrets, ...oidcs]) each.close();
  }

  try {
    for (const policy of policies) {
      const settings = JSON.stringify(policy);
      const authenticator = bySettings.get(settings) ?? (await open(policy));
      bySettings.set(settings, authenticator);
      opened.set(policy, authenticator);
    }
  } catch (error) {
    close();
    throw error;
  }
  return {
    of(policy) {
      const authenticator = opened.get(policy);
      if (authenticator === undefined) throw new Error("every policy of the project was opened");
      return authenticator;
    },
    warnings,
    close,
  };
}
