import type { JsonText } from "./mcp-service.ts";

/** Modern is the stateless protocol of 2026. Legacy means the older versions, with `initialize`. */
export type ProtocolKind = "legacy" | "modern";

/** Returned by `server/discover`, and in the error for an unsupported version. */
export const modernVersions: readonly string[] = ["2026-07-28"];

export const NEWEST_LEGACY_VERSION = "2025-11-25";

/** All of them are served alike, so the version header is optional. */
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

/** The codes of JSON-RPC and of MCP. Eider's own codes are HTTP statuses, which are outside every reserved range. */
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

/** A JSON-RPC error. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: JsonText | undefined;
}

/** A rejected request: its error, and the HTTP status. */
export interface Refusal {
  readonly kind: "refused";
  readonly status: number;
  readonly error: RpcError;
  readonly headers?: readonly string[];
}

/** The result of one message. `result` is JSON text, or its bytes if they are cached. */
export type MessageResult =
  | { readonly kind: "result"; readonly result: JsonText | Uint8Array; readonly headers?: readonly string[] }
  | Refusal
  /** A notification, which gets no response. */
  | { readonly kind: "accepted" }
  /** The client cancelled the request. */
  | { readonly kind: "cancelled" };

export const ACCEPTED: MessageResult = { kind: "accepted" };

export function refuse(status: number, code: number, message: string): Refusal {
  return { kind: "refused", status, error: { code, message } };
}

/** Thrown by a method to return an error. The HTTP status is 200 by default, because the protocol worked. */
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

/** A client must declare support for tasks before it can use them. */
export function tasksNotDeclared(): RpcFailure {
  const data = `{"requiredCapabilities":{"extensions":{"${TASKS_EXTENSION}":{}}}}`;
  return new RpcFailure({ code: CODE.missingCapability, message: "Missing required client capability", data }, 400);
}

/** An error as JSON text. An unknown `id` is left out, because the protocol's schema does not allow null. */
export function errorText(id: JsonText | undefined, { code, message, data }: RpcError): JsonText {
  const head = id === undefined ? '{"jsonrpc":"2.0"' : `{"jsonrpc":"2.0","id":${id}`;
  const tail = data === undefined ? "}}" : `,"data":${data}}}`;
  return `${head},"error":{"code":${code},"message":${JSON.stringify(message)}${tail}`;
}

/** Removes line breaks, which would split a line or an event. In JSON, they occur only between tokens. */
export function oneLine(text: JsonText): JsonText {
  return /[\r\n]/.test(text) ? text.replaceAll(/[\r\n]+/g, " ") : text;
}
