import { type Identity, identityKey } from "../auth/identity.ts";
import type { McpCore, McpRequest, Method, Sender } from "./core.ts";
import { headerProblem, legacyMeta, modernMeta, protocolOf } from "./envelope.ts";
import { accessRefusal, drainingRefusal, rpcErrorOf, stoppedResult } from "./failed-outcome.ts";
import { idOrTokenText, type Message } from "./message.ts";
import { methodsOf } from "./methods/index.ts";
import { StoppedCall } from "./open-call.ts";
import {
  ACCEPTED,
  CODE,
  legacyVersions,
  type MessageResult,
  type ProtocolKind,
  type Refusal,
  RpcFailure,
  refuse,
} from "./protocol.ts";
import type { Session } from "./sessions.ts";

/** A valid message from a client. */
type ClientMessage = Extract<Message, { kind: "request" | "notification" }>;

/**
 * Handles one message. Start reading here. The checks follow the protocol, in an order that clients may rely on. The
 * transport has already checked host, path, size and JSON.
 */
export async function handleMessage(message: Message, sender: Sender, core: McpCore): Promise<MessageResult> {
  const prepared = await prepare(message, sender, core);
  return "run" in prepared ? prepared.run() : prepared;
}

/** An authorized message that has not run yet. In a batch, nothing runs before all messages are authorized. */
export interface PreparedMessage {
  readonly run: () => Promise<MessageResult>;
}

export async function prepare(
  message: Message,
  sender: Sender,
  core: McpCore,
): Promise<MessageResult | PreparedMessage> {
  if (message.kind === "invalid") return refuse(400, CODE.invalidRequest, message.problem);
  const isResponse = message.kind === "response";
  const protocol = isResponse ? "legacy" : protocolOf(message.params, sender.headers?.version);
  if (protocol === "modern" && !isResponse && message.kind === "request" && message.id === "null") {
    return refuse(400, CODE.invalidRequest, "Invalid Request: id must be a string or a number");
  }
  if (core.isDraining()) return drainingRefusal();
  const decision = isResponse
    ? await sender.admit("notifications/response", undefined)
    : await sender.admit(message.method, targetOf(message));
  if (decision.kind === "refused") return accessRefusal(decision.failure, decision.challenges);
  // Eider sends no requests to clients, so it ignores their responses.
  if (isResponse) return ACCEPTED;
  const { identity } = decision;
  const handle = protocol === "modern" ? handleModern : handleLegacy;
  return { run: () => handle(message, { sender, identity, owner: identityKey(identity) }, core) };
}

/** The tool, prompt or resource that a message is about. */
function targetOf({ method, params }: ClientMessage): string | undefined {
  const target = method.startsWith("resources/") ? params?.["uri"] : params?.["name"];
  return typeof target === "string" ? target : undefined;
}

interface Caller {
  readonly sender: Sender;
  readonly identity: Identity;
  readonly owner: string;
}

async function handleModern(message: ClientMessage, caller: Caller, core: McpCore): Promise<MessageResult> {
  if (message.kind === "notification") {
    handleNotification("modern", { ...caller, message, session: undefined }, core);
    return ACCEPTED;
  }
  const { id, method: name, params = {}, text, longArguments } = message;
  const { headers } = caller.sender;
  const meta = modernMeta(message.params, text, headers);
  if ("kind" in meta) return meta;
  const method = methodsOf.modern.get(name);
  const problem = headerProblem(headers, name, method?.nameParam && params[method.nameParam]);
  if (problem !== undefined) return problem;
  if (method === undefined) return unknownMethod(404, name);
  const state = core.state();
  return run(
    method,
    { protocol: "modern", id, method: name, params, text, longArguments, meta, state, session: undefined, ...caller },
    core,
  );
}

async function handleLegacy(message: ClientMessage, caller: Caller, core: McpCore): Promise<MessageResult> {
  const { sender, owner } = caller;
  // A client that initializes again may still send the ID of a closed session.
  const isInitialize = message.method === "initialize";
  const session = isInitialize ? undefined : sender.session(owner);
  if (session === "unknown") return refuse(404, 404, "Session not found; send initialize to begin another");
  const version = sender.headers?.version;
  if (version !== undefined && !legacyVersions.includes(version) && !isInitialize) {
    return refuse(
      400,
      CODE.invalidRequest,
      `Invalid Request: unsupported MCP-Protocol-Version; use one of ${legacyVersions.join(", ")}`,
    );
  }
  if (message.kind === "notification") {
    handleNotification("legacy", { ...caller, message, session }, core);
    return ACCEPTED;
  }
  const { id, method: name, params = {}, text, longArguments } = message;
  const method = methodsOf.legacy.get(name);
  if (method === undefined) return unknownMethod(200, name);
  const meta = legacyMeta(message.params, text);
  return run(
    method,
    {
      protocol: "legacy",
      id,
      method: name,
      params,
      text,
      longArguments,
      meta,
      state: core.state(),
      session,
      ...caller,
    },
    core,
  );
}

async function run(method: Method, request: McpRequest, core: McpCore): Promise<MessageResult> {
  try {
    const response = await method.run(request, core);
    if (typeof response === "string" || response instanceof Uint8Array) return { kind: "result", result: response };
    return { kind: "result", ...response };
  } catch (error) {
    if (error instanceof StoppedCall) return stoppedResult(error.reason);
    const { protocol, sender } = request;
    const status = error instanceof RpcFailure ? error.status : 200;
    return { kind: "refused", status, error: rpcErrorOf(error, { protocol, requestId: sender.requestId }, core) };
  }
}

function unknownMethod(status: number, name: string): Refusal {
  return refuse(status, CODE.methodNotFound, `Method not found: ${name}`);
}

interface NotificationContext extends Caller {
  readonly message: Extract<Message, { kind: "notification" }>;
  readonly session: Session | undefined;
}

/** Handles a cancellation. All other notifications are ignored. */
function handleNotification(
  protocol: ProtocolKind,
  { message, sender, owner, session }: NotificationContext,
  { calls }: McpCore,
): void {
  if (message.method !== "notifications/cancelled") return;
  const id = idOrTokenText(message.params?.["requestId"], message.text, ["params", "requestId"]);
  const scope = sender.cancelScope(protocol, owner, session);
  if (id !== undefined && scope !== undefined) calls.cancel(scope, id);
}
