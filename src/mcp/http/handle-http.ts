import type { IncomingMessage, ServerResponse } from "node:http";
import { RequestFailure } from "../../failure.ts";
import { authorizationOf } from "../../http/authorization.ts";
import { readBody } from "../../http/body-stream.ts";
import { isJsonContentType } from "../../http/content-type.ts";
import { decodeUtf8 } from "../../http/decode-utf8.ts";
import { type Client, clientOf, type TrustedProxies } from "../../http/forwarded.ts";
import { requestIdOf } from "../../http/request-id.ts";
import { MAX_UNSLICED, runAtOnce, runInSlices } from "../../slices.ts";
import { clientKey } from "../client-key.ts";
import type { McpCore, Sender } from "../core.ts";
import { handleBatch } from "../handle-batch.ts";
import { handleMessage } from "../handle-message.ts";
import { parseMessages } from "../message.ts";
import { CODE, type RpcError } from "../protocol.ts";
import type { Reply } from "../reply.ts";
import { type McpExchange, sendEmpty, sendError, sendJson } from "./exchange.ts";
import type { HostPolicy } from "./host-policy.ts";
import { openReply } from "./http-reply.ts";
import type { KeepAlive } from "./keep-alive.ts";
import { handleHealth, handleMetadata, type ProtectedResource, sendNotFound } from "./pages.ts";
import { pathKind, pathOf } from "./paths.ts";
import { handleDelete, handleGet, sendNotAllowed } from "./session-stream.ts";

/** The dependencies of the HTTP transport. */
export interface HttpContext extends McpCore {
  readonly proxies: Pick<TrustedProxies, "isTrusted">;
  readonly keepAlive: KeepAlive;
  readonly hostPolicy: () => HostPolicy;
  readonly protectedResource: () => ProtectedResource | undefined;
}

const MAX_BODY_BYTES = 4 << 20;

/** Handles one HTTP request: checks it, then handles its messages. */
export function handleHttp(request: IncomingMessage, response: ServerResponse, context: HttpContext): void {
  const requestId = requestIdOf(request.headers["x-request-id"]);
  const client = clientOf(request, context.proxies);
  const { address, isSecure, host = "" } = client;
  const origin = `${isSecure ? "https" : "http"}://${host.toLowerCase()}`;
  const exchange: McpExchange = { request, response, requestId, address, origin, headers: [] };
  handleExchange(exchange, client, context).catch((error: unknown) => {
    context.report({ kind: "unexpected", requestId, error });
    if (response.headersSent) response.destroy();
    else sendError(exchange, 500, { code: CODE.internal, message: "Internal error" });
  });
}

async function handleExchange(exchange: McpExchange, client: Client, context: HttpContext): Promise<void> {
  const { request } = exchange;
  const kind = pathKind(pathOf(request.url));
  // Health checks may use any host name.
  if (kind === "health") return handleHealth(exchange, context);
  const hostPolicy = context.hostPolicy();
  const host = hostPolicy.hostOf(client.host);
  if (host === undefined) return sendError(exchange, 403, forbidden("this host is not allowed"));
  if (kind === "metadata") {
    const { publicUrl = exchange.origin } = context.state().settings;
    return handleMetadata(exchange, context.protectedResource(), publicUrl);
  }
  const { origin } = request.headers;
  if (origin !== undefined && !hostPolicy.allowsOrigin(origin, host)) {
    return sendError(exchange, 403, forbidden("this origin is not allowed"));
  }
  const corsExchange = origin === undefined ? exchange : { ...exchange, headers: originHeaders(origin) };
  if (kind === undefined) return sendNotFound(corsExchange);
  switch (request.method) {
    case "POST":
      return handlePost(corsExchange, context);
    case "GET":
      return handleGet(corsExchange, accessCheck(corsExchange, context), context);
    case "DELETE":
      return handleDelete(corsExchange, accessCheck(corsExchange, context), context);
    case "OPTIONS":
      return sendEmpty(corsExchange, 204, ["Allow", METHODS, ...(origin === undefined ? [] : PREFLIGHT)]);
    default:
      return sendNotAllowed(corsExchange);
  }
}

function forbidden(what: string): RpcError {
  return { code: 403, message: `Forbidden: ${what}` };
}

const METHODS = "POST, GET, DELETE, OPTIONS";

/** The requests that web pages may send. */
const PREFLIGHT = [
  "Access-Control-Allow-Methods",
  METHODS,
  "Access-Control-Allow-Headers",
  "Authorization, Content-Type, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID",
  "Access-Control-Max-Age",
  "600",
] as const;

/** The response headers that web pages may read. */
function originHeaders(origin: string): readonly string[] {
  return [
    "Access-Control-Allow-Origin",
    origin,
    "Access-Control-Expose-Headers",
    "Mcp-Session-Id, WWW-Authenticate",
    "Vary",
    "Origin",
  ];
}

function accessCheck({ request, address, origin }: McpExchange, { state }: HttpContext): Sender["admit"] {
  const authorization = authorizationOf(request);
  return (method, target) => state().access.admit({ method, target, authorization, address, origin });
}

async function handlePost(exchange: McpExchange, context: HttpContext): Promise<void> {
  const { request } = exchange;
  if (!isJsonContentType(request.headers["content-type"])) {
    return sendError(exchange, 415, { code: 415, message: "Content-Type must be application/json" });
  }
  const text = await readText(exchange);
  if (text === undefined) return;
  const parsed = await parseMessages(text);
  switch (parsed.kind) {
    case "not-json":
      return sendError(exchange, 400, { code: CODE.parseError, message: "Parse error" });
    case "bad-batch":
      return sendError(exchange, 400, { code: CODE.invalidRequest, message: parsed.problem });
    case "one": {
      const reply = openReply(exchange, context.keepAlive);
      reply.respond(parsed.message, await handleMessage(parsed.message, senderOf(exchange, reply, context), context));
      return;
    }
    case "batch": {
      const reply = openReply(exchange, context.keepAlive);
      const { status, headers, body } = await handleBatch(parsed.messages, senderOf(exchange, reply, context), context);
      if (body === undefined && status === 200) sendEmpty(exchange, 202);
      else sendJson(exchange, { status, body: body ?? "", extraHeaders: headers });
    }
  }
}

/** The body. Undefined if an error was sent already, or the client disconnected. */
async function readText(exchange: McpExchange): Promise<string | undefined> {
  const { request } = exchange;
  let bytes: Buffer;
  try {
    bytes = await readBody(request, request.headers["content-length"], MAX_BODY_BYTES);
  } catch (error) {
    if (!(error instanceof RequestFailure)) throw error;
    if (error.failure.kind !== "body-too-large") return undefined;
    const headers = ["Connection", "close"];
    sendError(exchange, 413, { code: 413, message: "Request body is too large", headers });
    return undefined;
  }
  const text = bytes.length <= MAX_UNSLICED ? runAtOnce(decodeUtf8(bytes)) : await runInSlices(decodeUtf8(bytes));
  if (text !== undefined) return text;
  sendError(exchange, 400, { code: CODE.parseError, message: "Parse error: the body is not UTF-8" });
  return undefined;
}

function senderOf(exchange: McpExchange, reply: Reply, context: HttpContext): Sender {
  const { request, requestId, address } = exchange;
  const { sessions } = context;
  const { headers } = request;
  const sessionId = headers["mcp-session-id"];
  return {
    requestId,
    address,
    reply,
    headers: {
      version: headerText(headers["mcp-protocol-version"]),
      method: headerText(headers["mcp-method"]),
      name: headerText(headers["mcp-name"]),
    },
    admit: accessCheck(exchange, context),
    session: (owner) => (typeof sessionId === "string" ? (sessions.find(sessionId, owner) ?? "unknown") : undefined),
    openSession: (owner) => sessions.open({ owner, client: clientKey(owner, address) }),
    // A modern client cancels a call by disconnecting.
    cancelScope(protocol, owner, session) {
      if (protocol === "modern") return undefined;
      return session === undefined ? `${owner}\n${address}` : session.id;
    },
  };
}

/** Node joins repeated headers, although its types also allow arrays. */
function headerText(header: string | string[] | undefined): string | undefined {
  return typeof header === "string" ? header : header?.join(", ");
}
