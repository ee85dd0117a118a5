import type { JsonText } from "./mcp-service.ts";
import type { Era } from "./protocol.ts";

/** The way back to the client of one request, for what is sent before its answer. */
export interface Reply {
  /** Whether the client takes messages before the answer. */
  takes(era: Era): boolean;
  send(message: JsonText): void;
  /** When the client leaves before it has its answer. */
  onLeave(work: () => void): void;
}

/** For messages of a batch: their answers come together, and nothing before. */
export function mutedReply(reply: Reply): Reply {
  return { takes: () => false, send: () => {}, onLeave: (work) => reply.onLeave(work) };
}

/** `params` are the members of an object, as JSON text without its braces. */
export function notification(method: string, params: string): JsonText {
  return params === ""
    ? `{"jsonrpc":"2.0","method":"${method}"}`
    : `{"jsonrpc":"2.0","method":"${method}","params":{${params}}}`;
}
