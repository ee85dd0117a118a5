import type { Report } from "../../events.ts";
import type { AuthenticationResult, Authenticator } from "../authenticator.ts";
import { openCommaWarning } from "../identity.ts";
import type { OidcPolicy } from "../policy.ts";
import { type CheckedToken, openTokenCheck, refusal, unauthorized } from "./check-token.ts";
import { openGithubCheck } from "./github.ts";
import { openProvider } from "./provider.ts";
import { openProviderClient } from "./provider-client.ts";
import { openTokenCache } from "./token-cache.ts";
import { openTokenExchange, type TokenExchange } from "./token-exchange.ts";

export interface OidcOptions {
  readonly fetch: typeof globalThis.fetch;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly report: Report;
}

export interface OidcAuthenticator extends Authenticator {
  /** Undefined unless an exchange is enabled. */
  readonly exchange: TokenExchange | undefined;
  /** Fetches the provider's keys before the first request needs them. Reports a failure instead of rejecting. */
  loadKeys(): Promise<void>;
  /** Cancels running requests to the provider. */
  close(): void;
}

/** Longer tokens are rejected. Node does not accept larger headers either. */
const MAX_TOKEN = 16 * 1024;
const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i;

export function openOidc(policy: OidcPolicy, { fetch, now, ...options }: OidcOptions): OidcAuthenticator {
  let isClosed = false;
  // Failures caused by our own shutdown are not reported.
  const report: Report = (event) => isClosed || options.report(event);
  const requests = openProviderClient(fetch);
  const provider = openProvider(policy, { requests, now, report });
  const isGithub = policy.provider === "github";
  const checkToken = isGithub ? openGithubCheck(policy, { requests, report }) : openTokenCheck(policy, provider, now);
  const tokens = openTokenCache(now);
  const warnAboutComma = openCommaWarning(report);
  const runningChecks = new Map<string, Promise<AuthenticationResult>>();

  async function check(key: string, token: string): Promise<AuthenticationResult> {
    let checked: CheckedToken;
    try {
      checked = await checkToken(token);
    } catch {
      // The check itself failed, for example because its library could not be loaded.
      return refusal({ kind: "internal" });
    } finally {
      runningChecks.delete(key);
    }
    if (checked.kind === "refused") return checked;
    warnAboutComma(checked.identity);
    const result: AuthenticationResult = { kind: "identity", identity: checked.identity };
    tokens.set(key, { result, until: checked.until, isCurrent: checked.isCurrent });
    return result;
  }

  return {
    authenticate({ authorization }) {
      const token = bearerToken(authorization);
      if (token === undefined) return unauthorized;
      const key = tokens.keyOf(token);
      const known = tokens.get(key) ?? runningChecks.get(key);
      if (known !== undefined) return known;
      // Concurrent requests with the same token share one check.
      const result = check(key, token);
      runningChecks.set(key, result);
      return result;
    },
    exchange: openTokenExchange(policy, { requests, provider, report }),
    async loadKeys() {
      if (!isGithub) await provider.load();
    },
    close() {
      isClosed = true;
      requests.close();
    },
  };
}

function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined || authorization.length > MAX_TOKEN) return undefined;
  return BEARER.exec(authorization)?.[1];
}
