import type { IncomingMessage } from "node:http";
import { RequestFailure } from "../failure.ts";
import { corsHeaders, variesByOrigin } from "../http/cors.ts";
import { clientOf } from "../http/forwarded.ts";
import { httpsProblem, strictTransport } from "../http/https-only.ts";
import type { RestContext } from "./rest-app.ts";
import type { HttpExchange } from "./send-failure.ts";

/** Lets nothing pass that others could have read, where HTTPS is enforced; decisions 1. */
export function enforceHttps({ request, response }: HttpExchange, { access }: RestContext): void {
  const { https, proxies } = access;
  if (https === undefined) return;
  const client = clientOf(request, proxies);
  const problem = https.tls === undefined ? httpsProblem(request, client) : undefined;
  if (problem === undefined) {
    if (client.isSecure) response.setHeader(...strictTransport);
    return;
  }
  throw new RequestFailure({
    kind: "https-required",
    location: problem === "refused" ? undefined : problem.location,
  });
}

/** Tells browsers whether a page of another origin may read the answer, whatever the answer will be. */
export function setCorsHeaders({ request, response }: HttpExchange, { access: { cors } }: RestContext): void {
  if (cors === undefined) return;
  if (variesByOrigin(cors)) response.setHeader("Vary", "Origin");
  if (request.headers.origin === undefined || request.method === "OPTIONS") return;
  for (const [name, value] of corsHeaders(cors, corsRequest(request, [])).headers) response.setHeader(name, value);
}

/** What a browser wants to know before it lets a page call. Credentials never come with it, so none are asked for. */
export function preflightHeaders(
  request: IncomingMessage,
  allow: readonly string[],
  { access: { cors } }: RestContext,
): readonly (readonly [string, string])[] {
  return cors === undefined ? [] : corsHeaders(cors, corsRequest(request, allow)).headers;
}

function corsRequest({ headers, method = "GET" }: IncomingMessage, allow: readonly string[]) {
  const requestHeaders = headers["access-control-request-headers"];
  return {
    origin: headers.origin,
    method,
    requestMethod: headers["access-control-request-method"],
    requestHeaders: typeof requestHeaders === "string" ? requestHeaders : undefined,
    allow,
  };
}
