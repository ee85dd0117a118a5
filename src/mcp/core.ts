import type { Identity } from "../auth/identity.ts";
import type { Report } from "../events.ts";
import type { After } from "../time-limit.ts";
import type { RequestMeta, RoutingHeaders } from "./envelope.ts";
import type { AccessDecision, JsonText } from "./mcp-service.ts";
import type { Arguments, JsonObject } from "./message.ts";
import type { OpenCalls } from "./open-calls.ts";
import type { ProtocolKind } from "./protocol.ts";
import type { Reply } from "./reply.ts";
import type { Session, Sessions } from "./sessions.ts";
import type { McpState } from "./state.ts";
import type { Streams } from "./streams.ts";
import type { Tasks } from "./tasks/task.ts";

/** State that lives as long as the server, across reloads. */
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

/** The client of a message, as its transport knows it. */
export interface Sender {
  readonly requestId: string;
  readonly address: string;
  /** Undefined on stdio. */
  readonly headers: RoutingHeaders | undefined;
  readonly reply: Reply;
  admit(method: string, target: string | undefined): AccessDecision | Promise<AccessDecision>;
  /** The session of a legacy message. "unknown" if this identity has no session with this ID. */
  session(owner: string): Session | undefined | "unknown";
  /** Opens a session for `initialize`. */
  openSession(owner: string): Session | undefined;
  /** The scope in which `notifications/cancelled` finds calls by ID. Undefined if clients cancel by disconnecting. */
  cancelScope(protocol: ProtocolKind, owner: string, session: Session | undefined): string | undefined;
}

/** A request that has passed every check. */
export interface McpRequest {
  readonly protocol: ProtocolKind;
  readonly id: JsonText;
  readonly method: string;
  readonly params: JsonObject;
  /** The message as received. */
  readonly text: string;
  /** The arguments of a long message. They are empty in its `text` and `params`. */
  readonly longArguments: Arguments | undefined;
  readonly meta: RequestMeta;
  readonly state: McpState;
  readonly session: Session | undefined;
  readonly identity: Identity;
  /** The key of the identity, which owns sessions and tasks. */
  readonly owner: string;
  readonly sender: Sender;
}

/** One method of the protocol. */
export interface Method {
  readonly name: string;
  readonly protocols: readonly ProtocolKind[];
  /** The parameter that the header `Mcp-Name` repeats. */
  readonly nameParam?: "name" | "uri" | "taskId";
  /** Returns the result. Throws an RpcFailure, an McpError, or a StoppedCall. */
  run(request: McpRequest, core: McpCore): MethodResult | Promise<MethodResult>;
}

/** The result of a method: JSON text or its bytes. `headers` are alternating names and values. */
export type MethodResult = JsonText | Uint8Array | { readonly result: JsonText; readonly headers: readonly string[] };
