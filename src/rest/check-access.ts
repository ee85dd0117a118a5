import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { AuthenticationResult, Authenticator } from "../auth/authenticator.ts";
import { anonymous, type Identity } from "../auth/identity.ts";
import type { AuthPolicy } from "../auth/policy.ts";
import { admit, type RateLimitTarget } from "../calls/admit.ts";
import { authorizationOf } from "../http/authorization.ts";
import { clientOf } from "../http/forwarded.ts";
import { rateLimitHeaders } from "../rate-limit/headers.ts";
import type { RateState } from "../rate-limit/rate-limiter.ts";
import type { RestContext } from "./context.ts";
import type { HttpExchange } from "./exchange.ts";

const ANONYMOUS: AuthenticationResult = { kind: "identity", identity: anonymous };

/** Authenticates a request by its headers, before its body is read. */
export function authenticate(
  policy: AuthPolicy | undefined,
  { request }: HttpExchange,
  { service }: Pick<RestContext, "service">,
): AuthenticationResult | Promise<AuthenticationResult> {
  if (policy === undefined) return ANONYMOUS;
  return authenticateCached(service.authenticators.of(policy), request);
}

/** The last successful authentication on a connection. */
interface LastAuthentication {
  readonly authenticator: Authenticator;
  readonly authorization: string;
  readonly found: AuthenticationResult;
  readonly at: number;
}

const lastOf = new WeakMap<Socket, LastAuthentication>();
/** For this long, the same credentials on the same connection are not verified again. */
const VALID_MS = 250;

function authenticateCached(
  authenticator: Authenticator,
  request: IncomingMessage,
): AuthenticationResult | Promise<AuthenticationResult> {
  const authorization = authorizationOf(request);
  const { socket } = request;
  const now = performance.now();
  if (authorization !== undefined) {
    const last = lastOf.get(socket);
    if (last?.authorization === authorization && last.authenticator === authenticator && now - last.at < VALID_MS) {
      return last.found;
    }
  }
  const found = authenticator.authenticate({ authorization });
  if (authorization !== undefined && !(found instanceof Promise) && found.kind === "identity") {
    lastOf.set(socket, { authenticator, authorization, found, at: now });
  }
  return found;
}

/** Checks access to a route of the service itself. Rejects with a RequestFailure. */
export async function checkAccess(
  target: RateLimitTarget & { readonly auth: AuthPolicy | undefined },
  exchange: HttpExchange,
  context: RestContext,
): Promise<Identity> {
  return await admit(await authenticate(target.auth, exchange, context), target, {
    rateLimiter: context.rateLimiter,
    address: () => clientOf(exchange.request, context.access.proxies).address,
    onRateLimitState: (state) => setRateLimitHeaders(exchange.response, state),
  });
}

export function setRateLimitHeaders(response: ServerResponse, state: RateState): void {
  for (const [name, value] of rateLimitHeaders(state)) response.setHeader(name, value);
}
