import type { JsonText } from "./mcp-service.ts";

/** Which of the two protocols a request speaks: the stateless one of 2026, or the one with `initialize` before it. */
export type Era = "legacy" | "modern";

/** What `server/discover` names; a client that asks for another is told these. */
export const modernVersions: readonly string[] = ["2026-07-28"];

export const NEWEST_LEGACY_VERSION = "2025-11-25";

/** A client that does not say which is served as all of them are. */
export const legacyVersions: readonly string[] = [NEWEST_LEGACY_VERSION, "2025-06-18", "2025-03-26", "2024-11-05"];

const PREFIX = "io.modelcontextprotocol/";

/** Keys of `_meta`. */
export const META = {
  protocolVersion: `${PREFIX}protocolVersion`,
  clientCapabilities: `${PREFIX}clientCapabilities`,
  logLevel: `${PREFIX}logLevel`,
  serverInfo: `${PREFIX}serverInfo`,
  subscriptionId: `${PREFIX}subscriptionId`,
} as const;

export const TASKS_EXTENSION = `${PREFIX}tasks`;

/** The codes of JSON-RPC and of the protocol. Those of our own are HTTP statuses: outside of every reserved range. */
export const CODE = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
  /** Legacy only. */
  resourceNotFound: -32002,
} as const;

/** What a client is told of a request that failed. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: JsonText | undefined;
}

/** A request that is answered with an error, and the status by which HTTP tells it. */
export interface Refusal {
  readonly kind: "refused";
  readonly status: number;
  readonly error: RpcError;
  readonly headers?: readonly string[];
}

/** What becomes of one message. A result is JSON text, or the bytes of it where they were prepared. */
export type MessageResult =
  | { readonly kind: "result"; readonly result: JsonText | Uint8Array; readonly headers?: readonly string[] }
  | Refusal
  /** A notification: nobody waits for an answer. */
  | { readonly kind: "accepted" }
  /** The client called it off. */
  | { readonly kind: "cancelled" };

export const ACCEPTED: MessageResult = { kind: "accepted" };

export function refuse(status: number, code: number, message: string): Refusal {
  return { kind: "refused", status, error: { code, message } };
}

/** A method that cannot be answered throws one; HTTP still says 200, because the protocol worked. */
export class RpcFailure extends Error {
  readonly error: RpcError;
  readonly status: number;

  constructor(error: RpcError, status = 200) {
    super(error.message);
    this.name = "RpcFailure";
    this.error = error;
    this.status = status;
  }
}

export function invalidParams(message: string): RpcFailure {
  return new RpcFailure({ code: CODE.invalidParams, message });
}

/** The client must say that it understands tasks before it hears of them. */
export function tasksNotDeclared(): RpcFailure {
  const data = `{"requiredCapabilities":{"extensions":{"${TASKS_EXTENSION}":{}}}}`;
  return new RpcFailure({ code: CODE.missingCapability, message: "Missing required client capability", data }, 400);
}

/** `id` is undefined where none could be read: the schema of the protocol has no null there. */
export function errorText(id: JsonText | undefined, { code, message, data }: RpcError): JsonText {
  const head = id === undefined ? '{"jsonrpc":"2.0"' : `{"jsonrpc":"2.0","id":${id}`;
  const tail = data === undefined ? "}}" : `,"data":${data}}}`;
  return `${head},"error":{"code":${code},"message":${JSON.stringify(message)}${tail}`;
}

/** Line ends can only be space between tokens: a stream of lines or of events cannot carry them. */
export function oneLine(text: JsonText): JsonText {
  return /[\r\n]/.test(text) ? text.replaceAll(/[\r\n]+/g, " ") : text;
}
