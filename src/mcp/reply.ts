import type { JsonText } from "./mcp-service.ts";
import type { ProtocolKind } from "./protocol.ts";

/** Sends messages to the client of one request, before its response. */
export interface Reply {
  /** Whether the client accepts messages before the response. */
  accepts(protocol: ProtocolKind): boolean;
  send(message: JsonText): void;
  /** Calls `work` if the client disconnects before the response is complete. */
  onDisconnect(work: () => void): void;
}

/** For the messages of a batch, whose responses are sent together, with no notifications before them. */
export function mutedReply(reply: Reply): Reply {
  return { accepts: () => false, send: () => {}, onDisconnect: (work) => reply.onDisconnect(work) };
}

/** `params` are the members of an object, as JSON text without its braces. */
export function notification(method: string, params: string): JsonText {
  return params === ""
    ? `{"jsonrpc":"2.0","method":"${method}"}`
    : `{"jsonrpc":"2.0","method":"${method}","params":{${params}}}`;
}
