import { type IncomingMessage, STATUS_CODES } from "node:http";
import { requestIdOf } from "./request-id.ts";

/** Node silently drops what comes after its two thousandth header. */
const MAX_HEADERS = 1_000;

/** What is wrong with a head that Node lets through, if anything. */
export function statusOfHead({ rawHeaders, headers, httpVersion }: IncomingMessage): number | undefined {
  if (rawHeaders.length > 2 * MAX_HEADERS) return 431;
  const coding = headers["transfer-encoding"];
  if (httpVersion === "1.1") {
    if (headers.host === undefined || hostHeaders(rawHeaders) !== 1) return 400;
  } else if (!httpVersion.startsWith("1.")) return 505;
  return coding === undefined ? undefined : statusOfCoding(coding);
}

/** Node joins headers that came several times. */
const CHUNKED = /^chunked$/i;
const CHUNKED_LAST = /[^\s,][\s]*,[\s]*chunked$/i;

/**
 * A body is chunked, or has a length. Any coding below the chunks is one that we do not have (501); where the last one is
 * not `chunked`, the end of the body is unknown (400).
 */
function statusOfCoding(coding: string): number | undefined {
  if (CHUNKED.test(coding)) return undefined;
  return CHUNKED_LAST.test(coding) ? 501 : 400;
}

/** Node keeps the first of several; a proxy in front may have meant the last. */
function hostHeaders(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === "host") count++;
  }
  return count;
}

/** An error of Node's parser. */
export interface ParseError extends NodeJS.ErrnoException {
  readonly reason?: string;
  /** The bytes that it was given last, and how many of them it took. */
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

/** The status for what Node's parser does not take. */
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

/** Whether two digits were read that are no version of HTTP/1; `1.2` is malformed for Node. */
function isOtherVersion({ reason, rawPacket, bytesParsed = 0 }: ParseError): boolean {
  return reason === "Invalid HTTP version" && rawPacket?.[bytesParsed - "1.1".length] !== ONE;
}

export interface Rejection {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The response to what is rejected before a handler sees it. It is the last one of its connection. */
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

/** The same as bytes, for what never became a request. */
export function rejectionText(status: number): string {
  const { headers, body } = rejectionOf(status);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("\r\n")}\r\n\r\n${body}`;
}
