import type { Report } from "../../events.ts";
import type { OidcPolicy } from "../policy.ts";
import { type CheckedToken, type CheckToken, providerDown, refused, unauthorized } from "./check-token.ts";
import { identityFrom } from "./claims.ts";
import { parseObject } from "./json.ts";
import type { Reply, Requests } from "./requests.ts";

/** Enough for honest callers; a flood of made-up tokens is not handed on to GitHub. */
const CHECKS_AT_ONCE = 32;

/** GitHub signs no tokens: its API is asked whose one is. Spec 5.3; decisions 9. */
export function openGithubCheck(
  policy: OidcPolicy,
  { requests, report }: { readonly requests: Requests; readonly report: Report },
): CheckToken {
  const dependency = `oidc provider ${policy.issuerUrl}`;
  let running = 0;
  let down = false;

  function fail(reason: string): CheckedToken {
    if (!down)
      report({
        kind: "dependency-down",
        dependency,
        message: `${reason}; callers with tokens get 503 until it is back`,
      });
    down = true;
    return providerDown;
  }

  async function check(token: string): Promise<CheckedToken> {
    const headers = { authorization: `Bearer ${token}`, accept: "application/vnd.github+json" };
    let reply: Reply;
    try {
      reply = await requests.get(`${policy.issuerUrl}/user`, headers);
    } catch (error) {
      return fail(error instanceof Error ? error.message : "no answer");
    }
    if (isTrouble(reply)) return fail(`${policy.issuerUrl}/user answers with status ${reply.status}`);
    if (down) report({ kind: "dependency-up", dependency });
    down = false;
    const user = reply.status === 200 ? parseObject(reply.text) : undefined;
    const identity = user && identityFrom(policy, user);
    if (identity === undefined) return unauthorized;
    return { kind: "holds", identity, until: Number.POSITIVE_INFINITY, isCurrent: () => true };
  }

  return async (token) => {
    if (running >= CHECKS_AT_ONCE) return refused({ kind: "overloaded" });
    running++;
    try {
      return await check(token);
    } finally {
      running--;
    }
  };
}

/** Anything but an answer about the token. A 403 may be one, or say that we asked too often. */
function isTrouble({ status, headers }: Reply): boolean {
  if (status === 403) return headers.get("x-ratelimit-remaining") === "0" || headers.has("retry-after");
  return status !== 200 && status !== 401;
}
