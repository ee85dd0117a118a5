import type { EmbeddedEngine } from "../engines/embedded-engine.ts";
import type { Report } from "../events.ts";
import type { Authenticator } from "./authenticator.ts";
import { inlineUsers, openBasic, type UsersWithCost } from "./basic.ts";
import { openBearer } from "./bearer.ts";
import { openHashing } from "./hashing.ts";
import { openOidc } from "./oidc/oidc.ts";
import type { AuthPolicy, BasicPolicy } from "./policy.ts";
import type { Environment } from "./secret-reader.ts";
import { openSecretUsers, type SecretUserSource } from "./secret-users.ts";

/** The authenticators of all `auth` blocks of a project. */
export interface Authenticators {
  of(policy: AuthPolicy): Authenticator;
  /** Startup warnings about users from outside the YAML. */
  readonly warnings: readonly { readonly policy: AuthPolicy; readonly message: string }[];
  /** Reused by a reload: unchanged blocks keep their caches. */
  readonly reusable: AuthenticatorSet;
  close(): void;
  /** After a reload: closes the authenticators that `next` does not reuse. */
  closeUnshared(next: Authenticators): void;
}

interface OpenAuthenticator {
  readonly authenticator: Authenticator;
  readonly messages: readonly string[];
  close(): void;
}

interface AuthenticatorSet {
  /** By the settings of the block, as JSON. */
  readonly opened: ReadonlyMap<string, OpenAuthenticator>;
  readonly shared: Shared;
}

/** Shared by all blocks, so that an attacker cannot avoid a limit by using another block. */
interface Shared {
  readonly now: () => number;
  readonly hashing: ReturnType<typeof openHashing>;
}

export interface AuthenticatorOptions {
  readonly engine: EmbeddedEngine;
  readonly report: Report;
  readonly now: () => number;
  readonly fetch: typeof globalThis.fetch;
  readonly env: Environment;
  /** The authenticators before a reload. */
  readonly previous?: Authenticators | undefined;
}

/** Rejects with an Error that names the secret if its users cannot be read. */
export async function openAuthenticators(
  policies: Iterable<AuthPolicy>,
  options: AuthenticatorOptions,
): Promise<Authenticators> {
  const of = new Map<AuthPolicy, Authenticator>();
  // Blocks with the same settings, such as included ones, share their caches.
  const opened = new Map<string, OpenAuthenticator>();
  const warnings: { policy: AuthPolicy; message: string }[] = [];
  const before = options.previous?.reusable;
  const shared: Shared = before?.shared ?? {
    now: options.now,
    hashing: openHashing(),
  };

  function closeExcept(next: ReadonlyMap<string, OpenAuthenticator> | undefined): void {
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
    closeExcept(before?.opened);
    throw error;
  }
  return {
    of(policy) {
      const authenticator = of.get(policy);
      if (authenticator === undefined) throw new Error("the auth policy was not opened");
      return authenticator;
    },
    warnings,
    reusable: { opened, shared },
    close: () => closeExcept(undefined),
    closeUnshared: (next) => closeExcept(next.reusable.opened),
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
      // In the background, because a provider that is down must not prevent startup.
      void oidc.loadKeys();
      return { authenticator: oidc, messages: [], close: oidc.close };
    }
  }
}

function usersOf({ users }: BasicPolicy, secret: SecretUserSource | undefined): UsersWithCost {
  const inline = inlineUsers(users);
  if (secret === undefined) return inline;
  return {
    // Users in the YAML take precedence.
    find: (username) => inline.find(username) ?? secret.find(username),
    maxCost: () => Math.max(inline.maxCost?.() ?? 0, secret.maxCost()),
  };
}
