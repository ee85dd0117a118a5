import type { IncomingMessage } from "node:http";
import type { AccessConfig } from "../config/access-config.ts";
import { RequestFailure } from "../failure.ts";
import { corsHeaders, variesByOrigin } from "../http/cors.ts";
import { checkHttps } from "../http/https-only.ts";
import type { HttpExchange } from "./exchange.ts";

/** Rejects plain HTTP where HTTPS is enforced. */
export function enforceHttps({ request, response }: HttpExchange, access: AccessConfig): void {
  const problem = checkHttps(request, response, access);
  if (problem !== undefined) throw new RequestFailure({ kind: "https-required", location: problem.location });
}

/** Lets pages from allowed origins read the response, including errors. */
export function setCorsHeaders({ request, response }: HttpExchange, { cors }: AccessConfig): void {
  if (cors === undefined) return;
  if (variesByOrigin(cors)) response.setHeader("Vary", "Origin");
  if (request.headers.origin === undefined || request.method === "OPTIONS") return;
  for (const [name, value] of corsHeaders(cors, corsRequest(request, [])).headers) response.setHeader(name, value);
}

/** The headers of a preflight response. Browsers send no credentials with a preflight, so none are required. */
export function preflightHeaders(
  request: IncomingMessage,
  allow: readonly string[],
  { cors }: AccessConfig,
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
