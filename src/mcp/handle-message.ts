import { type Identity, identityKey } from "../auth/identity.ts";
import type { McpCore, McpRequest, Method, Sender } from "./core.ts";
import { eraOf, headerProblem, legacyMeta, modernMeta } from "./envelope.ts";
import { refusedOutcome, rpcErrorOf, stoppedOutcome, stopping } from "./failed-outcome.ts";
import { keyText, type Message } from "./message.ts";
import { methodsOf } from "./methods/index.ts";
import { StoppedCall } from "./open-call.ts";
import {
  ACCEPTED,
  CODE,
  type Era,
  legacyVersions,
  type MessageResult,
  type Refusal,
  RpcFailure,
  refuse,
} from "./protocol.ts";
import type { Session } from "./sessions.ts";

/** A message that means something. */
type Meant = Extract<Message, { kind: "request" | "notification" }>;

/**
 * One message, from its text to what becomes of it: the steps are those of the protocol, in the order in which clients
 * may rely on them. What a binding checks before (host, path, size, JSON) has been checked. READ THIS FIRST.
 */
export async function handleMessage(message: Message, sender: Sender, core: McpCore): Promise<MessageResult> {
  const prepared = await prepare(message, sender, core);
  return "run" in prepared ? prepared.run() : prepared;
}

/** Somebody who may be answered, and has not been yet: of a batch nothing runs before everything may. */
export interface Admitted {
  readonly run: () => Promise<MessageResult>;
}

export async function prepare(message: Message, sender: Sender, core: McpCore): Promise<MessageResult | Admitted> {
  if (message.kind === "invalid") return refuse(400, CODE.invalidRequest, message.problem);
  const isResponse = message.kind === "response";
  const era = isResponse ? "legacy" : eraOf(message.params, sender.headers?.version);
  if (era === "modern" && !isResponse && message.kind === "request" && message.id === "null") {
    return refuse(400, CODE.invalidRequest, "Invalid Request: id must be a text or a number");
  }
  if (core.isDraining()) return stopping();
  const admitted = isResponse
    ? await sender.admit("notifications/response", undefined)
    : await sender.admit(message.method, targetOf(message));
  if (admitted.kind === "refused") return refusedOutcome(admitted.failure, admitted.challenges);
  // We ask clients for nothing, so that no answer of theirs means anything.
  if (isResponse) return ACCEPTED;
  const { identity } = admitted;
  const answer = era === "modern" ? handleModern : handleLegacy;
  return { run: () => answer(message, { sender, identity, owner: identityKey(identity) }, core) };
}

/** The tool, prompt or resource that a message is about. */
function targetOf({ method, params }: Meant): string | undefined {
  const target = method.startsWith("resources/") ? params?.["uri"] : params?.["name"];
  return typeof target === "string" ? target : undefined;
}

interface Caller {
  readonly sender: Sender;
  readonly identity: Identity;
  readonly owner: string;
}

async function handleModern(message: Meant, caller: Caller, core: McpCore): Promise<MessageResult> {
  if (message.kind === "notification") {
    handleCancelled("modern", { ...caller, message, session: undefined }, core);
    return ACCEPTED;
  }
  const { id, method: name, params = {}, text, longArguments } = message;
  const { headers } = caller.sender;
  const meta = modernMeta(message.params, text, headers);
  if ("kind" in meta) return meta;
  const method = methodsOf.modern.get(name);
  const problem = headerProblem(headers, name, method?.named && params[method.named]);
  if (problem !== undefined) return problem;
  if (method === undefined) return unknownMethod(404, name);
  const state = core.state();
  return run(
    method,
    { era: "modern", id, method: name, params, text, longArguments, meta, state, session: undefined, ...caller },
    core,
  );
}

async function handleLegacy(message: Meant, caller: Caller, core: McpCore): Promise<MessageResult> {
  const { sender, owner } = caller;
  // Whoever begins anew may still carry the id of what is gone.
  const isBeginning = message.method === "initialize";
  const session = isBeginning ? undefined : sender.session(owner);
  if (session === "unknown") return refuse(404, 404, "Session not found; send initialize to begin another");
  const version = sender.headers?.version;
  if (version !== undefined && !legacyVersions.includes(version) && !isBeginning) {
    return refuse(
      400,
      CODE.invalidRequest,
      `Invalid Request: unsupported MCP-Protocol-Version; known are ${legacyVersions.join(", ")}`,
    );
  }
  if (message.kind === "notification") {
    handleCancelled("legacy", { ...caller, message, session }, core);
    return ACCEPTED;
  }
  const { id, method: name, params = {}, text, longArguments } = message;
  const method = methodsOf.legacy.get(name);
  if (method === undefined) return unknownMethod(200, name);
  const meta = legacyMeta(message.params, text);
  return run(
    method,
    { era: "legacy", id, method: name, params, text, longArguments, meta, state: core.state(), session, ...caller },
    core,
  );
}

async function run(method: Method, request: McpRequest, core: McpCore): Promise<MessageResult> {
  try {
    const answer = await method.run(request, core);
    if (typeof answer === "string" || answer instanceof Uint8Array) return { kind: "result", result: answer };
    return { kind: "result", ...answer };
  } catch (error) {
    if (error instanceof StoppedCall) return stoppedOutcome(error.reason);
    const { era, sender } = request;
    const status = error instanceof RpcFailure ? error.status : 200;
    return { kind: "refused", status, error: rpcErrorOf(error, { era, requestId: sender.requestId }, core) };
  }
}

function unknownMethod(status: number, name: string): Refusal {
  return refuse(status, CODE.methodNotFound, `Method not found: ${name}`);
}

interface Notified extends Caller {
  readonly message: Extract<Message, { kind: "notification" }>;
  readonly session: Session | undefined;
}

/** The one notification that we heed: a client calls off what it asked for. */
function handleCancelled(era: Era, { message, sender, owner, session }: Notified, { calls }: McpCore): void {
  if (message.method !== "notifications/cancelled") return;
  const id = keyText(message.params?.["requestId"], message.text, ["params", "requestId"]);
  const scope = sender.cancelScope(era, owner, session);
  if (id !== undefined && scope !== undefined) calls.cancel(scope, id);
}
