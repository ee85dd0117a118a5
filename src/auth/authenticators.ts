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
  /** What a reload goes on with: blocks that say the same keep what they remember. */
  readonly kept: AuthenticatorSet;
  close(): void;
  /** After a reload: closes what the next ones did not take over. */
  closeBut(next: Authenticators): void;
}

interface OpenAuthenticator {
  readonly authenticator: Authenticator;
  readonly messages: readonly string[];
  close(): void;
}

interface AuthenticatorSet {
  /** By what a block says. */
  readonly opened: ReadonlyMap<string, OpenAuthenticator>;
  readonly shared: Shared;
}

/** One bound for all: a flood against one block must not be a way around another's. */
interface Shared {
  readonly now: () => number;
  readonly hashing: ReturnType<typeof openHashing>;
  readonly attempts: ReturnType<typeof openFailedAttempts>;
}

export interface AuthenticatorOptions {
  readonly engine: Engine;
  readonly report: Report;
  readonly now: () => number;
  readonly fetch: typeof globalThis.fetch;
  readonly env: Environment;
  /** Those before a reload. */
  readonly previous?: Authenticators | undefined;
}

/** Rejects with an Error that names the secret when its users cannot be read. */
export async function openAuthenticators(
  policies: Iterable<AuthPolicy>,
  options: AuthenticatorOptions,
): Promise<Authenticators> {
  const of = new Map<AuthPolicy, Authenticator>();
  // Blocks that say the same, as by an include, share what they remember.
  const opened = new Map<string, OpenAuthenticator>();
  const warnings: { policy: AuthPolicy; message: string }[] = [];
  const before = options.previous?.kept;
  const shared: Shared = before?.shared ?? {
    now: options.now,
    hashing: openHashing(),
    attempts: openFailedAttempts({ now: options.now }),
  };

  function closeBut(next: ReadonlyMap<string, OpenAuthenticator> | undefined): void {
    for (const [settings, each] of opened) if (next?.get(settings) !== each) each.close();
  }

  try {
    for (const policy of policies) {
      const settings = JSON.stringify(policy);
      const known = opened.get(settings) ?? before?.opened.get(settings) ?? (await open(policy, shared, options));
      if (!opened.has(settings)) warnings.push(...known.messages.map((message) => ({ policy, message })));
      opened.set(settings, known);
      of.set(policy, known.authenticator);
    }
  } catch (error) {
    closeBut(before?.opened);
    throw error;
  }
  return {
    of(policy) {
      const authenticator = of.get(policy);
      if (authenticator === undefined) throw new Error("every policy of the project was opened");
      return authenticator;
    },
    warnings,
    kept: { opened, shared },
    close: () => closeBut(undefined),
    closeBut: (next) => closeBut(next.kept.opened),
  };
}

async function open(policy: AuthPolicy, shared: Shared, options: AuthenticatorOptions): Promise<OpenAuthenticator> {
  switch (policy.kind) {
    case "basic": {
      const secret = policy.secretUsers && (await openSecretUsers(policy.secretUsers, options));
      const authenticator = openBasic({ ...shared, report: options.report, users: usersOf(policy, secret) });
      return { authenticator, messages: secret?.warnings ?? [], close: () => secret?.close() };
    }
    case "bearer":
      return { authenticator: openBearer(policy, options), messages: [], close() {} };
    case "oidc": {
      const oidc = openOidc(policy, options);
      // In the background: a provider that is down must not keep the service from starting.
      void oidc.loadKeys();
      return { authenticator: oidc, messages: [], close: oidc.close };
    }
  }
}

function usersOf({ users }: BasicPolicy, secret: SecretUserSource | undefined): CountedUsers {
  const inline = inlineUsers(users);
  if (secret === undefined) return inline;
  return {
    // Those in the YAML come first.
    find: (username) => inline.find(username) ?? secret.find(username),
    version: () => secret.version(),
    maxCost: () => Math.max(inline.maxCost?.() ?? 0, secret.maxCost()),
  };
}
