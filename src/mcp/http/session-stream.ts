import { identityKey } from "../../auth/identity.ts";
import { clientKey } from "../client-key.ts";
import type { McpCore } from "../core.ts";
import { accessRefusal, drainingRefusal } from "../failed-outcome.ts";
import type { AccessDecision } from "../mcp-service.ts";
import { oneLine, type Refusal, refuse } from "../protocol.ts";
import { type Channel, legacyNotifications, type Session } from "../sessions.ts";
import { beginEvents, type McpExchange, sendEmpty, sendError, sendEvent } from "./exchange.ts";
import type { KeepAlive } from "./keep-alive.ts";

/** Checks access to a session. */
export type AccessCheck = (method: string, target: string | undefined) => AccessDecision | Promise<AccessDecision>;

/** GET opens a stream of notifications. It requires a session. */
export async function handleGet(
  exchange: McpExchange,
  admit: AccessCheck,
  core: McpCore & { readonly keepAlive: KeepAlive },
) {
  const { request } = exchange;
  if (request.headers.accept?.includes("text/event-stream") !== true) return sendNotAllowed(exchange);
  const session = await findSession(exchange, admit, core);
  if (session === undefined) return sendNotAllowed(exchange);
  if ("kind" in session) return sendRefusal(exchange, session);
  const { response } = exchange;
  // The client disconnected meanwhile.
  if (response.destroyed) return;
  // An unread body would hide a disconnect.
  request.resume();
  const channel: Channel = {
    send: (message) => sendEvent(exchange, oneLine(message)),
    end: () => response.end(),
  };
  const closeStream = core.streams.open(
    {
      onEvent(event) {
        // Each message is sent once, on the newest stream, because the client may have lost the older ones.
        if (session.channels.at(-1) !== channel) return;
        for (const message of legacyNotifications(event, session)) channel.send(message);
      },
      end: () => response.end(),
    },
    { client: clientKey(session.owner, exchange.address), bytes: 0 },
  );
  if (closeStream === undefined) return sendRefusal(exchange, tooManyStreams());
  session.channels.push(channel);
  response.once("close", () => {
    closeStream();
    session.channels.splice(session.channels.indexOf(channel), 1);
  });
  beginEvents(exchange);
  core.keepAlive.add(response);
}

/** DELETE closes the session. */
export async function handleDelete(exchange: McpExchange, admit: AccessCheck, core: McpCore): Promise<void> {
  const session = await findSession(exchange, admit, core);
  if (session === undefined) return sendNotAllowed(exchange);
  if ("kind" in session) return sendRefusal(exchange, session);
  core.sessions.close(session.id);
  sendEmpty(exchange, 204);
}

/** Undefined if the request has no session ID. */
async function findSession(
  { request }: McpExchange,
  admit: AccessCheck,
  { isDraining, sessions }: McpCore,
): Promise<Session | Refusal | undefined> {
  const id = request.headers["mcp-session-id"];
  if (typeof id !== "string") return undefined;
  if (isDraining()) return drainingRefusal();
  const decision = await admit(request.method ?? "GET", undefined);
  if (decision.kind === "refused") return accessRefusal(decision.failure, decision.challenges);
  return sessions.find(id, identityKey(decision.identity)) ?? refuse(404, 404, "Session not found");
}

function tooManyStreams(): Refusal {
  const error = { code: 503, message: "Service Unavailable: too many streams are open" };
  return { kind: "refused", status: 503, error, headers: ["Retry-After", "5"] };
}

function sendRefusal(exchange: McpExchange, { status, error, headers = [] }: Refusal): void {
  sendError(exchange, status, { ...error, headers });
}

export function sendNotAllowed(exchange: McpExchange): void {
  const error = { code: 405, message: "Method Not Allowed", headers: ["Allow", "POST, OPTIONS"] };
  sendError(exchange, 405, error);
}
