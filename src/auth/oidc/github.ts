import { errorMessage } from "../../error-message.ts";
import type { Report } from "../../events.ts";
import { openDependency } from "../dependency.ts";
import type { OidcPolicy } from "../policy.ts";
import { type CheckedToken, type CheckToken, providerDown, refusal, unauthorized } from "./check-token.ts";
import { identityFrom } from "./claims.ts";
import { parseObject } from "./json.ts";
import type { ProviderClient, Reply } from "./provider-client.ts";

/** Enough for legitimate clients, but limits how many made-up tokens reach GitHub. */
const CHECKS_AT_ONCE = 32;

/** GitHub does not sign tokens. Its API returns the user of a token. */
export function openGithubCheck(
  policy: OidcPolicy,
  { requests, report }: { readonly requests: ProviderClient; readonly report: Report },
): CheckToken {
  const dependency = openDependency(`oidc provider ${policy.issuerUrl}`, report);
  let runningChecks = 0;

  function fail(reason: string): CheckedToken {
    dependency.down(`${reason}; requests with tokens get 503 until it is back`);
    return providerDown;
  }

  async function check(token: string): Promise<CheckedToken> {
    const headers = { authorization: `Bearer ${token}`, accept: "application/vnd.github+json" };
    let reply: Reply;
    try {
      reply = await requests.get(`${policy.issuerUrl}/user`, headers);
    } catch (error) {
      return fail(errorMessage(error));
    }
    if (isFailedCheck(reply)) return fail(`${policy.issuerUrl}/user answers with status ${reply.status}`);
    dependency.up();
    const user = reply.status === 200 ? parseObject(reply.text) : undefined;
    const identity = user && identityFrom(policy, user);
    if (identity === undefined) return unauthorized;
    return { kind: "valid", identity, until: Number.POSITIVE_INFINITY, isCurrent: () => true };
  }

  return async (token) => {
    if (runningChecks >= CHECKS_AT_ONCE) return refusal({ kind: "overloaded" });
    runningChecks++;
    try {
      return await check(token);
    } finally {
      runningChecks--;
    }
  };
}

/** Whether GitHub could not check the token. A 403 may be about the token, or about GitHub's rate limit. */
function isFailedCheck({ status, headers }: Reply): boolean {
  if (status === 403) return headers.get("x-ratelimit-remaining") === "0" || headers.has("retry-after");
  return status !== 200 && status !== 401;
}
