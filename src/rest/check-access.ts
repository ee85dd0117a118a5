import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Authenticated, Authenticator } from "../auth/authenticator.ts";
import type { Authenticators } from "../auth/authenticators.ts";
import { anonymous, type Identity } from "../auth/identity.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { RequestFailure } from "../failure.ts";
import { authorizationOf } from "../http/authorization.ts";
import { clientOf, type TrustedProxies } from "../http/forwarded.ts";
import { rateLimitHeaders } from "../rate-limit/headers.ts";
import type { RateLimiter, RateState } from "../rate-limit/rate-limiter.ts";

/** What decides who may call, and how often. */
export interface AccessControl {
  readonly authenticators: Authenticators;
  readonly rateLimiter: RateLimiter;
  readonly proxies: TrustedProxies;
  /** Milliseconds. */
  readonly now: () => number;
}

interface Asking {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Who calls, when it may; else a RequestFailure. Nothing of the request but its head has been looked at. decisions.md 9. */
export function checkAccess(
  endpoint: Pick<Endpoint, "name" | "auth" | "rateLimit">,
  asking: Asking,
  gate: AccessControl,
): Identity | Promise<Identity> {
  if (endpoint.auth === undefined) {
    return endpoint.rateLimit === undefined ? anonymous : counted(anonymous, endpoint, { ...asking, gate });
  }
  const authenticated = authenticate(gate.authenticators.of(endpoint.auth), asking.request, gate);
  if (authenticated instanceof Promise) {
    return authenticated.then((found) => passed(found, endpoint, { ...asking, gate }));
  }
  if (authenticated.kind === "identity" && endpoint.rateLimit === undefined) return authenticated.identity;
  return passed(authenticated, endpoint, { ...asking, gate });
}

/** What a connection showed last, and to whom. */
interface Shown {
  readonly authenticator: Authenticator;
  readonly authorization: string;
  readonly found: Authenticated;
  readonly at: number;
}

const lastShown = new WeakMap<Socket, Shown>();
/** Whoever was let in a moment ago over the same connection, with the same words, need not be looked up again. */
const MOMENT_MS = 250;

function authenticate(
  authenticator: Authenticator,
  request: IncomingMessage,
  { proxies, now }: AccessControl,
): Authenticated | Promise<Authenticated> {
  const authorization = authorizationOf(request);
  const { socket } = request;
  if (authorization !== undefined) {
    const last = lastShown.get(socket);
    if (last?.authorization === authorization && last.authenticator === authenticator && now() - last.at < MOMENT_MS) {
      return last.found;
    }
  }
  const found = authenticator.authenticate({ authorization, address: clientOf(request, proxies).address });
  if (authorization !== undefined && !(found instanceof Promise) && found.kind === "identity") {
    lastShown.set(socket, { authenticator, authorization, found, at: now() });
  }
  return found;
}

interface Counting extends Asking {
  readonly gate: AccessControl;
}

type Limited = Pick<Endpoint, "name" | "rateLimit">;

function passed(found: Authenticated, endpoint: Limited, counting: Counting): Identity | Promise<Identity> {
  if (found.kind === "identity") return counted(found.identity, endpoint, counting);
  // Whoever guesses is counted by its address.
  const refuse = (): never => {
    throw new RequestFailure(found.failure);
  };
  const taken = counted(anonymous, endpoint, counting);
  return taken instanceof Promise ? taken.then(refuse) : refuse();
}

/** Takes one of the caller's requests; every answer from here on tells how many are left. */
function counted(
  identity: Identity,
  { name, rateLimit }: Limited,
  { request, response, gate }: Counting,
): Identity | Promise<Identity> {
  if (rateLimit === undefined) return identity;
  const { address } = clientOf(request, gate.proxies);
  const finish = (state: RateState): Identity => {
    for (const [header, value] of rateLimitHeaders(state)) response.setHeader(header, value);
    if (state.allowed) return identity;
    throw new RequestFailure({ kind: "too-many-requests", retryAfterSeconds: state.retryAfterSeconds });
  };
  const state = gate.rateLimiter.take(name, rateLimit, { address, username: identity.get("username")?.text });
  return state instanceof Promise ? state.then(finish) : finish(state);
}
