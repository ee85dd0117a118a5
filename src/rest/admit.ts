import type { IncomingMessage, ServerResponse } from "node:http";
import type { Authenticated } from "../auth/authenticator.ts";
import type { Authenticators } from "../auth/authenticators.ts";
import { anonymous, type Identity } from "../auth/identity.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { RequestFailure } from "../failure.ts";
import { clientOf, type TrustedProxies } from "../http/forwarded.ts";
import { rateLimitHeaders } from "../rate-limit/headers.ts";
import type { RateLimiter, RateState } from "../rate-limit/rate-limiter.ts";

/** What decides who may call, and how often. */
export interface Gate {
  readonly authenticators: Authenticators;
  readonly rateLimiter: RateLimiter;
  readonly proxies: TrustedProxies;
}

interface Asking {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Who calls, when it may; else a RequestFailure. Nothing of the request but its head has been looked at. decisions.md 9. */
export function admit(
  endpoint: Pick<Endpoint, "name" | "auth" | "rateLimit">,
  asking: Asking,
  gate: Gate,
): Identity | Promise<Identity> {
  if (endpoint.auth === undefined && endpoint.rateLimit === undefined) return anonymous;
  const { address } = clientOf(asking.request, gate.proxies);
  if (endpoint.auth === undefined) return counted(anonymous, endpoint, { ...asking, address, gate });
  const authenticated = gate.authenticators
    .of(endpoint.auth)
    .authenticate({ authorization: authorizationOf(asking.request), address });
  const counting: Counting = { ...asking, address, gate };
  if (authenticated instanceof Promise) return authenticated.then((found) => passed(found, endpoint, counting));
  return passed(authenticated, endpoint, counting);
}

interface Counting extends Asking {
  readonly address: string;
  readonly gate: Gate;
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
  { response, address, gate }: Counting,
): Identity | Promise<Identity> {
  if (rateLimit === undefined) return identity;
  const finish = (state: RateState): Identity => {
    for (const [header, value] of rateLimitHeaders(state)) response.setHeader(header, value);
    if (state.allowed) return identity;
    throw new RequestFailure({ kind: "too-many-requests", retryAfterSeconds: state.retryAfterSeconds });
  };
  const state = gate.rateLimiter.take(name, rateLimit, { address, username: identity.get("username")?.text });
  return state instanceof Promise ? state.then(finish) : finish(state);
}

/** Node keeps the first of several and a proxy may have meant the last: two of them are none. */
function authorizationOf({ headers, rawHeaders }: IncomingMessage): string | undefined {
  const { authorization } = headers;
  if (authorization === undefined) return undefined;
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.length === 13 && rawHeaders[index]?.toLowerCase() === "authorization") count++;
  }
  return count === 1 ? authorization : undefined;
}
