import { type IncomingMessage, STATUS_CODES } from "node:http";
import { requestIdOf } from "./request-id.ts";

/** Lower than Node's limit of 2,000, above which it silently drops headers. */
const MAX_HEADERS = 1_000;

/** The error status for headers that Node accepts but Eider rejects. Undefined if they are valid. */
export function statusOfHeaders({ rawHeaders, headers, httpVersion }: IncomingMessage): number | undefined {
  if (rawHeaders.length > 2 * MAX_HEADERS) return 431;
  const coding = headers["transfer-encoding"];
  if (httpVersion === "1.1") {
    if (headers.host === undefined || countHostHeaders(rawHeaders) !== 1) return 400;
  } else if (!httpVersion.startsWith("1.")) return 505;
  return coding === undefined ? undefined : statusOfCoding(coding);
}

/** Node joins repeated headers with commas. */
const CHUNKED = /^chunked$/i;
const CHUNKED_LAST = /[^\s,][\s]*,[\s]*chunked$/i;

/**
 * Only `chunked` is supported. Another coding before it is not implemented (501). If `chunked` is not the last one, the end of
 * the body is unknown (400).
 */
function statusOfCoding(coding: string): number | undefined {
  if (CHUNKED.test(coding)) return undefined;
  return CHUNKED_LAST.test(coding) ? 501 : 400;
}

/** Counts Host headers. Of several, Node keeps the first, but a proxy may use the last. */
function countHostHeaders(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === "host") count++;
  }
  return count;
}

/** An error from Node's parser. */
export interface ParseError extends NodeJS.ErrnoException {
  readonly reason?: string;
  /** The last bytes it received, and how many of them it parsed. */
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

/** The status for an error from Node's parser. */
export function statusOfError(error: ParseError): number {
  switch (error.code) {
    case "HPE_HEADER_OVERFLOW":
      return 431;
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return 408;
    // The preface of HTTP/2.
    case "HPE_PAUSED_H2_UPGRADE":
      return 505;
    case "HPE_INVALID_VERSION":
      return isOtherVersion(error) ? 505 : 400;
    default:
      return 400;
  }
}

const ONE = 0x31;

/** Whether the version is well-formed but not HTTP/1. Node considers `1.2` malformed. */
function isOtherVersion({ reason, rawPacket, bytesParsed = 0 }: ParseError): boolean {
  return reason === "Invalid HTTP version" && rawPacket?.[bytesParsed - "1.1".length] !== ONE;
}

export interface Rejection {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The response to a request that is rejected before it reaches a handler. The connection is then closed. */
export function rejectionOf(status: number): Rejection {
  const body = JSON.stringify({ error: STATUS_CODES[status] ?? "Bad Request" });
  const headers = {
    "Content-Type": "application/json",
    "Content-Length": String(Buffer.byteLength(body)),
    "Cache-Control": "no-store",
    "X-Request-Id": requestIdOf(undefined),
    ...(status === 405 ? { Allow: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS" } : {}),
    Connection: "close",
  };
  return { headers, body };
}

/** The same response as raw HTTP, for errors without a request object. */
export function rejectionText(status: number): string {
  const { headers, body } = rejectionOf(status);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("\r\n")}\r\n\r\n${body}`;
}
