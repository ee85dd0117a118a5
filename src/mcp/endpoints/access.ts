import type { Authenticated } from "../../auth/authenticator.ts";
import type { Authenticators } from "../../auth/authenticators.ts";
import { anonymous } from "../../auth/identity.ts";
import type { AuthPolicy } from "../../auth/policy.ts";
import type { McpAuth, McpSettings } from "../../config/mcp-config.ts";
import type { Failure } from "../../failure.ts";
import type { RateLimiter } from "../../rate-limit/rate-limiter.ts";
import type { AccessDecision, McpAccess, McpAccessRequest } from "../mcp-service.ts";
import type { Called } from "./attempt.ts";
import type { Catalog } from "./catalog.ts";
import { challengesOf } from "./challenges.ts";

export interface McpAccessParts {
  readonly settings: Pick<McpSettings, "auth" | "publicUrl">;
  readonly catalog: Catalog;
  readonly authenticators: Pick<Authenticators, "of">;
  readonly rateLimiter: Pick<RateLimiter, "take">;
}

const ANONYMOUS: AccessDecision = { kind: "identity", identity: anonymous };

/**
 * `mcp.auth` governs MCP, method by method. An endpoint that is protected of its own needs a caller that this or its own
 * block knows. Wrong credentials are refused even where none are needed: rows that depend on the caller would silently be
 * others. Spec 5.5, decisions 9.
 */
export function openMcpAccess({ settings, catalog, authenticators, rateLimiter }: McpAccessParts): McpAccess {
  const { auth } = settings;

  function admit(asked: McpAccessRequest): AccessDecision | Promise<AccessDecision> {
    const called = calledBy(asked, catalog);
    const own = called?.endpoint.auth;
    const isRequired = auth !== undefined && requires(auth, asked.method);
    const first = auth?.policy ?? own;
    if (first === undefined) return ANONYMOUS;
    if (asked.authorization === undefined) {
      if (!isRequired && own === undefined) return ANONYMOUS;
      return refused({ kind: "unauthorized", scheme: schemeOf(first) }, { asked, called, policy: first });
    }
    const second = isRequired || own === first ? undefined : own;
    return authenticated(asked, first, (found) => {
      if (found.kind === "identity") return found;
      if (second === undefined) return refused(found.failure, { asked, called, policy: first });
      return authenticated(asked, second, (other) =>
        other.kind === "identity" ? other : refused(found.failure, { asked, called, policy: first }),
      );
    });
  }

  function authenticated(
    { authorization, address }: McpAccessRequest,
    policy: AuthPolicy,
    decide: (found: Authenticated) => AccessDecision | Promise<AccessDecision>,
  ): AccessDecision | Promise<AccessDecision> {
    const found = authenticators.of(policy).authenticate({ authorization, address });
    return found instanceof Promise ? found.then(decide) : decide(found);
  }

  function refused(failure: Failure, { asked, called, policy }: Refusing): AccessDecision | Promise<AccessDecision> {
    const isOwn = policy !== auth?.policy;
    const challenges =
      failure.kind === "unauthorized"
        ? challengesOf(policy, { ...asked, publicUrl: settings.publicUrl, hasMetadata: !isOwn })
        : [];
    const refusal: AccessDecision = { kind: "refused", failure, challenges };
    const rateLimit = called?.endpoint.rateLimit;
    if (called === undefined || rateLimit === undefined) return refusal;
    return guessed(called, asked.address, refusal);
  }

  /** Whoever guesses is counted by its address. */
  async function guessed(
    { label, endpoint }: Called,
    address: string,
    refusal: AccessDecision,
  ): Promise<AccessDecision> {
    if (endpoint.rateLimit === undefined) return refusal;
    const who = { address, username: undefined };
    const { allowed, retryAfterSeconds } = await rateLimiter.take(label, endpoint.rateLimit, who);
    if (allowed) return refusal;
    return { kind: "refused", failure: { kind: "too-many-requests", retryAfterSeconds }, challenges: [] };
  }

  return { admit };
}

interface Refusing {
  readonly asked: McpAccessRequest;
  readonly called: Called | undefined;
  readonly policy: AuthPolicy;
}

/** Methods that follow another where nothing is said of them. */
const FOLLOWS: Readonly<Record<string, string>> = {
  "server/discover": "initialize",
  ping: "initialize",
  "tasks/get": "tools/call",
  "tasks/update": "tools/call",
  "tasks/cancel": "tools/call",
  "resources/templates/list": "resources/list",
  "resources/subscribe": "resources/read",
  "resources/unsubscribe": "resources/read",
};

function requires({ methods, isRequired }: McpAuth, method: string): boolean {
  const followed = Object.hasOwn(FOLLOWS, method) ? FOLLOWS[method] : undefined;
  const leader = followed ?? (method.startsWith("notifications/") ? "initialize" : undefined);
  return methods.get(method) ?? (leader === undefined ? undefined : methods.get(leader)) ?? isRequired;
}

/** What a method is about, where that is an endpoint. */
function calledBy({ method, target }: McpAccessRequest, { tools, prompts, addresses }: Catalog): Called | undefined {
  if (target === undefined) return undefined;
  switch (method) {
    case "tools/call":
      return tools.get(target);
    case "prompts/get":
      return prompts.get(target);
    case "resources/read":
    case "resources/subscribe":
      return addresses.find(target)?.resource;
    default:
      return undefined;
  }
}

function schemeOf({ kind }: AuthPolicy): "basic" | "bearer" {
  return kind === "basic" ? "basic" : "bearer";
}
