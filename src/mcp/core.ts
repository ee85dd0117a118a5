import type { Identity } from "../auth/identity.ts";
import type { After } from "../cache/schedule.ts";
import type { Report } from "../events.ts";
import type { RequestMeta, RoutingHeaders } from "./envelope.ts";
import type { AccessDecision, JsonText } from "./mcp-service.ts";
import type { Arguments, JsonObject } from "./message.ts";
import type { OpenCalls } from "./open-calls.ts";
import type { Era } from "./protocol.ts";
import type { Reply } from "./reply.ts";
import type { Session, Sessions } from "./sessions.ts";
import type { McpState } from "./state.ts";
import type { Streams } from "./streams.ts";
import type { Tasks } from "./tasks/task.ts";

/** What lives as long as the server, whatever is reloaded. */
export interface McpCore {
  readonly state: () => McpState;
  readonly sessions: Sessions;
  readonly streams: Streams;
  readonly calls: OpenCalls;
  readonly tasks: Tasks;
  readonly report: Report;
  readonly after: After;
  readonly isDraining: () => boolean;
}

/** What a binding knows of the one who sent a message. */
export interface Sender {
  readonly requestId: string;
  readonly address: string;
  /** Undefined where there are none: on stdio. */
  readonly headers: RoutingHeaders | undefined;
  readonly reply: Reply;
  admit(method: string, target: string | undefined): AccessDecision | Promise<AccessDecision>;
  /** The session of a legacy message; "unknown" when it names one that this identity does not have. */
  session(owner: string): Session | undefined | "unknown";
  /** Opens a session for `initialize`. */
  openSession(owner: string): Session | undefined;
  /** Whose calls a `notifications/cancelled` ends; undefined where another way is meant for that. */
  cancelScope(era: Era, owner: string, session: Session | undefined): string | undefined;
}

/** A request that may be answered: it passed the ladder. */
export interface McpRequest {
  readonly era: Era;
  readonly id: JsonText;
  readonly method: string;
  readonly params: JsonObject;
  /** The message as it came. */
  readonly text: string;
  /** Of a long message, in whose `text` and `params` they are empty. */
  readonly longArguments: Arguments | undefined;
  readonly meta: RequestMeta;
  readonly state: McpState;
  readonly session: Session | undefined;
  readonly identity: Identity;
  /** The key of the identity: whose sessions and tasks it may use. */
  readonly owner: string;
  readonly sender: Sender;
}

/** One method of the protocol. */
export interface Method {
  readonly name: string;
  readonly eras: readonly Era[];
  /** The parameter that `Mcp-Name` repeats. */
  readonly named?: "name" | "uri" | "taskId";
  /** Gives a whole result, or throws: an RpcFailure, or what a McpService throws. */
  run(request: McpRequest, core: McpCore): MessageResponse | Promise<MessageResponse>;
}

export type MessageResponse =
  | JsonText
  | Uint8Array
  | { readonly result: JsonText; readonly headers: readonly string[] };
