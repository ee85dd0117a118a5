import type { McpCore } from "../core.ts";
import { legacyVersions, modernVersions } from "../protocol.ts";
import { type McpExchange, sendEmpty, sendJson } from "./exchange.ts";

/** What a client needs to get a token for this server (RFC 9728). */
export interface ProtectedResource {
  readonly issuer: string;
  readonly scopes: readonly string[];
  readonly resourceName: string;
}

const READ_METHODS = "GET, HEAD, OPTIONS";

/** Responds to any method except GET and HEAD, and returns whether it did. */
function handleOtherMethods(exchange: McpExchange): boolean {
  const { method } = exchange.request;
  if (method === "GET" || method === "HEAD") return false;
  if (method === "OPTIONS") sendEmpty(exchange, 204, ["Allow", READ_METHODS]);
  else
    sendJson(exchange, { status: 405, body: '{"error":"Method Not Allowed"}', extraHeaders: ["Allow", READ_METHODS] });
  return true;
}

export function handleHealth(exchange: McpExchange, { isDraining, sessions, state, streams }: McpCore): void {
  if (handleOtherMethods(exchange)) return;
  const { lists } = state().service;
  const body = JSON.stringify({
    status: isDraining() ? "stopping" : "ok",
    tools: lists.tools.length,
    resources: lists.resources.length,
    resourceTemplates: lists.templates.length,
    prompts: lists.prompts.length,
    sessions: sessions.count(),
    streams: streams.count(),
    versions: [...modernVersions, ...legacyVersions],
  });
  sendJson(exchange, { status: isDraining() ? 503 : 200, body });
}

/** Clients need the metadata before they log in, so any origin may read it. */
export function handleMetadata(
  exchange: McpExchange,
  protectedResource: ProtectedResource | undefined,
  publicUrl: string,
): void {
  const publicExchange: McpExchange = { ...exchange, headers: ["Access-Control-Allow-Origin", "*"] };
  if (protectedResource === undefined) {
    sendNotFound(publicExchange);
    return;
  }
  if (handleOtherMethods(publicExchange)) return;
  const { issuer, scopes, resourceName } = protectedResource;
  const body = JSON.stringify({
    resource: publicUrl.endsWith("/mcp") ? publicUrl : `${publicUrl}/mcp`,
    authorization_servers: [issuer],
    // `offline_access` requests a refresh token, which does not concern this server.
    scopes_supported: scopes.filter((scope) => scope !== "offline_access"),
    bearer_methods_supported: ["header"],
    resource_name: resourceName,
  });
  sendJson(publicExchange, { status: 200, body });
}

export function sendNotFound(exchange: McpExchange): void {
  sendJson(exchange, { status: 404, body: '{"error":"Not Found"}' });
}
