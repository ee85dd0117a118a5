import type { AuthenticationResult } from "../../auth/authenticator.ts";
import type { Authenticators } from "../../auth/authenticators.ts";
import { anonymous } from "../../auth/identity.ts";
import type { AuthPolicy } from "../../auth/policy.ts";
import { admit as admitCall } from "../../calls/admit.ts";
import { failureOf } from "../../calls/run-call.ts";
import type { McpAuth, McpSettings } from "../../config/mcp-config.ts";
import type { Failure } from "../../failure.ts";
import type { RateLimiter } from "../../rate-limit/rate-limiter.ts";
import type { AccessDecision, McpAccess, McpAccessRequest } from "../mcp-service.ts";
import type { CallTarget } from "./attempt.ts";
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
 * `mcp.auth` applies per method. An endpoint with its own `auth` block accepts an identity from either block. Wrong
 * credentials are rejected even if none are required, because the client would otherwise be treated as another user.
 */
export function openMcpAccess({ settings, catalog, authenticators, rateLimiter }: McpAccessParts): McpAccess {
  const { auth } = settings;

  function admit(request: McpAccessRequest): AccessDecision | Promise<AccessDecision> {
    const callTarget = findCallTarget(request, catalog);
    const endpointPolicy = callTarget?.endpoint.auth;
    const isRequired = auth !== undefined && requiresAuth(auth, request.method);
    const firstPolicy = auth?.policy ?? endpointPolicy;
    if (firstPolicy === undefined) return ANONYMOUS;
    if (request.authorization === undefined) {
      if (!isRequired && endpointPolicy === undefined) return ANONYMOUS;
      return reject(
        { kind: "unauthorized", scheme: schemeOf(firstPolicy) },
        { request, callTarget, policy: firstPolicy },
      );
    }
    const secondPolicy = isRequired || endpointPolicy === firstPolicy ? undefined : endpointPolicy;
    return authenticateThen(request, firstPolicy, (found) => {
      if (found.kind === "identity") return found;
      if (secondPolicy === undefined) return reject(found.failure, { request, callTarget, policy: firstPolicy });
      return authenticateThen(request, secondPolicy, (other) =>
        other.kind === "identity" ? other : reject(found.failure, { request, callTarget, policy: firstPolicy }),
      );
    });
  }

  function authenticateThen(
    { authorization }: McpAccessRequest,
    policy: AuthPolicy,
    decide: (found: AuthenticationResult) => AccessDecision | Promise<AccessDecision>,
  ): AccessDecision | Promise<AccessDecision> {
    const found = authenticators.of(policy).authenticate({ authorization });
    return found instanceof Promise ? found.then(decide) : decide(found);
  }

  function reject(
    failure: Failure,
    { request, callTarget, policy }: RefusalContext,
  ): AccessDecision | Promise<AccessDecision> {
    const isEndpointPolicy = policy !== auth?.policy;
    const challenges =
      failure.kind === "unauthorized"
        ? challengesOf(policy, { ...request, publicUrl: settings.publicUrl, hasMetadata: !isEndpointPolicy })
        : [];
    const refusal = { kind: "refused", failure, challenges } as const;
    return callTarget?.endpoint.rateLimit === undefined ? refusal : countAttempt(callTarget, request.address, refusal);
  }

  /** Failed attempts count towards the rate limit of the client's address. */
  async function countAttempt(
    { label, endpoint: { rateLimit } }: CallTarget,
    address: string,
    refusal: Extract<AccessDecision, { kind: "refused" }>,
  ): Promise<AccessDecision> {
    const admission = { rateLimiter, address: () => address, onRateLimitState: undefined };
    try {
      const identity = await admitCall(refusal, { name: label, rateLimit }, admission);
      return { kind: "identity", identity };
    } catch (error) {
      const failure = failureOf(error);
      return failure.kind === "too-many-requests" ? { kind: "refused", failure, challenges: [] } : refusal;
    }
  }

  return { admit };
}

interface RefusalContext {
  readonly request: McpAccessRequest;
  readonly callTarget: CallTarget | undefined;
  readonly policy: AuthPolicy;
}

/** Methods that use the setting of another method if they have none of their own. */
const USES_SETTING_OF: Readonly<Record<string, string>> = {
  "server/discover": "initialize",
  ping: "initialize",
  "tasks/get": "tools/call",
  "tasks/update": "tools/call",
  "tasks/cancel": "tools/call",
  "resources/templates/list": "resources/list",
  "resources/subscribe": "resources/read",
  "resources/unsubscribe": "resources/read",
};

function requiresAuth({ methods, isRequired }: McpAuth, method: string): boolean {
  const listed = Object.hasOwn(USES_SETTING_OF, method) ? USES_SETTING_OF[method] : undefined;
  const parent = listed ?? (method.startsWith("notifications/") ? "initialize" : undefined);
  return methods.get(method) ?? (parent === undefined ? undefined : methods.get(parent)) ?? isRequired;
}

/** The endpoint that a method calls, if any. */
function findCallTarget(
  { method, target }: McpAccessRequest,
  { tools, prompts, addresses }: Catalog,
): CallTarget | undefined {
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
