import type { McpCore, Sender } from "./core.ts";
import { protocolOf } from "./envelope.ts";
import { type PreparedMessage, prepare } from "./handle-message.ts";
import type { JsonText } from "./mcp-service.ts";
import type { Message } from "./message.ts";
import { CODE, errorText, type MessageResult, type Refusal, refuse } from "./protocol.ts";
import { mutedReply } from "./reply.ts";

/** The response to a batch. `body` is undefined if the batch contains only notifications. */
export interface BatchResponse {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: JsonText | undefined;
}

/** Handles a batch from a legacy client. If the client may not use one of the methods, nothing runs. */
export async function handleBatch(messages: readonly Message[], sender: Sender, core: McpCore): Promise<BatchResponse> {
  const muted: Sender = { ...sender, reply: mutedReply(sender.reply) };
  const prepared = await Promise.all(
    messages.map((message) => refuseInBatch(message, sender) ?? prepare(message, muted, core)),
  );
  const refusal = prepared.find(rejectsWholeBatch);
  if (refusal !== undefined) {
    const outcomes = prepared.map((one) => ("run" in one || one.kind === "refused" ? refusal : one));
    return { status: refusal.status, headers: refusal.headers ?? [], body: join(messages, outcomes) };
  }
  const outcomes = await Promise.all(prepared.map((one) => ("run" in one ? one.run() : one)));
  const lateRefusal = outcomes.find(rejectsWholeBatch);
  return { status: lateRefusal?.status ?? 200, headers: lateRefusal?.headers ?? [], body: join(messages, outcomes) };
}

/** Rejects modern messages and `initialize`, which must not be part of a batch. */
function refuseInBatch(message: Message, { headers }: Sender): Refusal | undefined {
  if (message.kind !== "request" && message.kind !== "notification") return undefined;
  const isModern = protocolOf(message.params, headers?.version) === "modern";
  if (!isModern && message.method !== "initialize") return undefined;
  return refuse(400, CODE.invalidRequest, "Invalid Request: this message must not be part of a batch");
}

/** Whether this message causes the whole batch to be rejected. An invalid message does not affect the others. */
function rejectsWholeBatch(one: MessageResult | PreparedMessage): one is Refusal {
  return "kind" in one && one.kind === "refused" && one.status !== 200 && one.error.code !== CODE.invalidRequest;
}

function join(messages: readonly Message[], outcomes: readonly MessageResult[]): JsonText | undefined {
  const texts = outcomes.flatMap((outcome, index) => {
    const message = messages[index];
    const text = message === undefined || message.kind === "notification" ? undefined : responseText(message, outcome);
    return text ?? [];
  });
  return texts.length === 0 ? undefined : `[${texts.join(",")}]`;
}

/** A response as JSON text. Undefined if the message gets none. */
export function responseText(message: Message, outcome: MessageResult): JsonText | undefined {
  if (message.kind === "invalid" && message.isNotification) return undefined;
  const id = message.kind === "request" || message.kind === "invalid" ? message.id : undefined;
  switch (outcome.kind) {
    case "result": {
      const { result } = outcome;
      return `{"jsonrpc":"2.0","id":${id},"result":${typeof result === "string" ? result : Buffer.from(result)}}`;
    }
    case "refused":
      return errorText(id, outcome.error);
    case "cancelled":
    case "accepted":
      return undefined;
  }
}
