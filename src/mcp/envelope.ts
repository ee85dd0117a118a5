import type { JsonText, LogLevel } from "./mcp-service.ts";
import { idOrTokenText, isObject, type JsonObject } from "./message.ts";
import { CODE, META, modernVersions, type ProtocolKind, type Refusal, refuse, TASKS_EXTENSION } from "./protocol.ts";

/** The metadata of a request. */
export interface RequestMeta {
  /** The token to echo. Undefined if the client requests no progress notifications. */
  readonly progressToken: JsonText | undefined;
  /** The minimum level of log messages. Undefined if the client requests none, or sets the level in its legacy session. */
  readonly logLevel: number | undefined;
  readonly traceparent: string | undefined;
  /** Whether the client declares support for tasks. */
  readonly declaresTasks: boolean;
}

/** The headers that repeat parts of the body, so that gateways need not read it. */
export interface RoutingHeaders {
  readonly version: string | undefined;
  readonly method: string | undefined;
  readonly name: string | undefined;
}

const DATE = /^\d{4}-\d{2}-\d{2}$/;
/** Versions are dates. The modern protocol starts in this year. */
const FIRST_MODERN_YEAR = "2026";

/** A modern request declares its version in `_meta`. A request with only a modern version header counts as modern too. */
export function protocolOf(params: JsonObject | undefined, headerVersion: string | undefined): ProtocolKind {
  const meta = params?.["_meta"];
  if (isObject(meta) && Object.hasOwn(meta, META.protocolVersion)) return "modern";
  const isModern = headerVersion !== undefined && DATE.test(headerVersion) && headerVersion >= FIRST_MODERN_YEAR;
  return isModern ? "modern" : "legacy";
}

const levels: readonly string[] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/** The rank of a level. Undefined if there is no such level. */
export function levelRank(level: unknown): number | undefined {
  const rank = typeof level === "string" ? levels.indexOf(level) : -1;
  return rank < 0 ? undefined : rank;
}

export function reaches(level: LogLevel, threshold: number | undefined): boolean {
  return threshold !== undefined && levels.indexOf(level) >= threshold;
}

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

function traceparentIn(meta: JsonObject): string | undefined {
  const { traceparent } = meta;
  return typeof traceparent === "string" && TRACEPARENT.test(traceparent) ? traceparent : undefined;
}

const TOKEN_PATH = ["params", "_meta", "progressToken"] as const;
const NO_META: RequestMeta = {
  progressToken: undefined,
  logLevel: undefined,
  traceparent: undefined,
  declaresTasks: false,
};

/** Ignores malformed values, because no response depends on them. */
export function legacyMeta(params: JsonObject | undefined, text: string): RequestMeta {
  const meta = params?.["_meta"];
  if (!isObject(meta)) return NO_META;
  return {
    progressToken: idOrTokenText(meta["progressToken"], text, TOKEN_PATH),
    logLevel: undefined,
    traceparent: traceparentIn(meta),
    declaresTasks: false,
  };
}

/** Checks and reads the `_meta` of a modern request. */
export function modernMeta(
  params: JsonObject | undefined,
  text: string,
  headers: RoutingHeaders | undefined,
): RequestMeta | Refusal {
  const meta = params?.["_meta"];
  if (!isObject(meta)) return malformed(`params._meta must be an object with ${META.protocolVersion}`);
  const version = meta[META.protocolVersion];
  if (typeof version !== "string") return malformed(`${META.protocolVersion} must be a string`);
  const capabilities = meta[META.clientCapabilities];
  if (!isObject(capabilities)) return malformed(`${META.clientCapabilities} must be an object`);
  if (headers?.version !== undefined && headers.version !== version) {
    return mismatch("MCP-Protocol-Version differs from the version in the body");
  }
  if (!modernVersions.includes(version)) return unsupported(version);
  const progressToken = idOrTokenText(meta["progressToken"], text, TOKEN_PATH);
  if (meta["progressToken"] !== undefined && progressToken === undefined) {
    return malformed("progressToken must be a string or a number");
  }
  const logLevel = levelRank(meta[META.logLevel]);
  if (meta[META.logLevel] !== undefined && logLevel === undefined) {
    return malformed(`${META.logLevel} is not a log level`);
  }
  const { extensions } = capabilities;
  const declaresTasks = isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);
  return { progressToken, logLevel, traceparent: traceparentIn(meta), declaresTasks };
}

function malformed(what: string): Refusal {
  return refuse(400, CODE.invalidParams, `Invalid params: ${what}`);
}

function mismatch(what: string): Refusal {
  return refuse(400, CODE.headerMismatch, `Header mismatch: ${what}`);
}

function unsupported(requested: string): Refusal {
  const data = JSON.stringify({ supported: modernVersions, requested });
  const error = { code: CODE.unsupportedVersion, message: "Unsupported protocol version", data };
  return { kind: "refused", status: 400, error };
}

/** The headers must match the body. `name` is undefined if the method has no `Mcp-Name`. */
export function headerProblem(headers: RoutingHeaders | undefined, method: string, name: unknown): Refusal | undefined {
  if (headers === undefined) return undefined;
  if (headers.version === undefined) return mismatch("MCP-Protocol-Version is missing");
  if (headers.method === undefined) return mismatch("Mcp-Method is missing");
  if (decodeHeader(headers.method) !== method) return mismatch("Mcp-Method differs from the method in the body");
  if (name === undefined) return undefined;
  if (headers.name === undefined) return mismatch("Mcp-Name is missing");
  return decodeHeader(headers.name) === name ? undefined : mismatch("Mcp-Name differs from the name in the body");
}

const ENCODED = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;

/** Values that a header cannot contain are sent in base64. Undefined if the encoding is invalid. */
function decodeHeader(value: string): string | undefined {
  if (!value.startsWith("=?base64?")) return value;
  const encoded = ENCODED.exec(value)?.[1];
  if (encoded === undefined) return undefined;
  const bytes = Buffer.from(encoded, "base64");
  const isCanonical = bytes.toString("base64").replace(/=+$/, "") === encoded.replace(/=+$/, "");
  const text = bytes.toString("utf8");
  return isCanonical && Buffer.from(text, "utf8").equals(bytes) ? text : undefined;
}
