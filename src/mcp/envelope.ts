import type { JsonText, LogLevel } from "./mcp-service.ts";
import { isObject, type JsonObject, keyText } from "./message.ts";
import { CODE, type Era, META, modernVersions, type Refusal, refuse, TASKS_EXTENSION } from "./protocol.ts";

/** What a request says of itself beside its parameters. */
export interface RequestMeta {
  /** As it is echoed; undefined when the client does not want to hear of progress. */
  readonly progressToken: JsonText | undefined;
  /** Messages below it are not sent; undefined: none are, unless a session says otherwise. */
  readonly logLevel: number | undefined;
  readonly traceparent: string | undefined;
  /** Whether the client understands tasks. */
  readonly declaresTasks: boolean;
}

/** The headers in which HTTP repeats what the body says, so that gateways need not read it. */
export interface RoutingHeaders {
  readonly version: string | undefined;
  readonly method: string | undefined;
  readonly name: string | undefined;
}

const DATE = /^\d{4}-\d{2}-\d{2}$/;
/** Versions are dates: the first of the new era is of this year. */
const FIRST_MODERN_YEAR = "2026";

/** Every request of the new era says so itself; a header alone is enough to be held to its rules. */
export function eraOf(params: JsonObject | undefined, headerVersion: string | undefined): Era {
  const meta = params?.["_meta"];
  if (isObject(meta) && Object.hasOwn(meta, META.protocolVersion)) return "modern";
  const isModern = headerVersion !== undefined && DATE.test(headerVersion) && headerVersion >= FIRST_MODERN_YEAR;
  return isModern ? "modern" : "legacy";
}

const levels: readonly string[] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/** The order of a level; undefined when there is no such level. */
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
const NOTHING: RequestMeta = {
  progressToken: undefined,
  logLevel: undefined,
  traceparent: undefined,
  declaresTasks: false,
};

/** What is malformed counts as absent: nothing here is needed for an answer. */
export function legacyMeta(params: JsonObject | undefined, text: string): RequestMeta {
  const meta = params?.["_meta"];
  if (!isObject(meta)) return NOTHING;
  return {
    progressToken: keyText(meta["progressToken"], text, TOKEN_PATH),
    logLevel: undefined,
    traceparent: traceparentIn(meta),
    declaresTasks: false,
  };
}

/** A request of the new era as far as its `_meta` goes; steps 10 to 12 of the ladder. */
export function modernMeta(
  params: JsonObject | undefined,
  text: string,
  headers: RoutingHeaders | undefined,
): RequestMeta | Refusal {
  const meta = params?.["_meta"];
  if (!isObject(meta)) return malformed(`params._meta must be an object with ${META.protocolVersion}`);
  const version = meta[META.protocolVersion];
  if (typeof version !== "string") return malformed(`${META.protocolVersion} must be a text`);
  const capabilities = meta[META.clientCapabilities];
  if (!isObject(capabilities)) return malformed(`${META.clientCapabilities} must be an object`);
  if (headers?.version !== undefined && headers.version !== version) {
    return mismatch("MCP-Protocol-Version differs from the version in the body");
  }
  if (!modernVersions.includes(version)) return unsupported(version);
  const progressToken = keyText(meta["progressToken"], text, TOKEN_PATH);
  if (meta["progressToken"] !== undefined && progressToken === undefined) {
    return malformed("progressToken must be a text or a number");
  }
  const logLevel = levelRank(meta[META.logLevel]);
  if (meta[META.logLevel] !== undefined && logLevel === undefined) return malformed(`${META.logLevel} is no level`);
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

/** Step 13 of the ladder: what the headers repeat must be what the body says. `name` is undefined where none is repeated. */
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

/** Text that a header cannot carry comes in base64. Undefined when what it claims to be is not so. */
function decodeHeader(value: string): string | undefined {
  if (!value.startsWith("=?base64?")) return value;
  const encoded = ENCODED.exec(value)?.[1];
  if (encoded === undefined) return undefined;
  const bytes = Buffer.from(encoded, "base64");
  const isCanonical = bytes.toString("base64").replace(/=+$/, "") === encoded.replace(/=+$/, "");
  const text = bytes.toString("utf8");
  return isCanonical && Buffer.from(text, "utf8").equals(bytes) ? text : undefined;
}
