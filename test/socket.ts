import { connect } from "node:net";
import { until } from "./until.ts";

/** One HTTP response, parsed from the received bytes. */
export interface RawAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  /** False if the connection closed before the end of the body. */
  readonly complete: boolean;
}

/** A TCP connection that sends and receives raw bytes. */
export interface RawSocket extends Disposable {
  send(bytes: string | Uint8Array): void;
  /** Closes the sending side of the connection. Responses are still read. */
  endSending(): void;
  /** Closes the connection normally. */
  close(): void;
  /** Closes the connection with a reset. */
  reset(): void;
  /** Stops reading, until `resume`. */
  pause(): void;
  resume(): void;
  received(): Buffer;
  answers(): readonly RawAnswer[];
  /** Whether the server or an error has closed the connection. */
  isClosed(): boolean;
  /** Whether the connection was closed by an error. */
  wasReset(): boolean;
  /** Waits for the first `count` responses. If the connection closes, some may be missing or incomplete. */
  take(count: number): Promise<readonly RawAnswer[]>;
  /** Waits until `isClosed`. */
  untilClosed(): Promise<void>;
}

/** Connects to the host and port of a URL. */
export async function openSocket(url: string): Promise<RawSocket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  const chunks: Buffer[] = [];
  let closed = false;
  let reset = false;
  await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  // A reset is an expected way to close a connection.
  socket.on("error", () => {
    reset = true;
  });
  socket.on("data", (chunk) => chunks.push(chunk));
  socket.on("end", () => {
    closed = true;
  });
  socket.on("close", () => {
    closed = true;
  });
  const received = (): Buffer => Buffer.concat(chunks);
  return {
    send: (bytes) => void socket.write(bytes),
    endSending: () => void socket.end(),
    close: () => void socket.destroy(),
    reset: () => void socket.resetAndDestroy(),
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    received,
    answers: () => parseAnswers(received()),
    isClosed: () => closed,
    wasReset: () => reset,
    take: (count) =>
      until(`${count} answers, so far: ${received().toString("latin1").slice(0, 500)}`, () => {
        const answers = parseAnswers(received());
        return answers.length >= count && (closed || answers.slice(0, count).every(({ complete }) => complete))
          ? answers.slice(0, count)
          : closed && answers;
      }),
    untilClosed: async () => void (await until("the end of the connection", () => closed)),
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

/** All responses in the received bytes, without interim ones (100 Continue). */
function parseAnswers(bytes: Buffer): readonly RawAnswer[] {
  const answers: RawAnswer[] = [];
  let at = 0;
  while (at < bytes.length) {
    const end = bytes.indexOf("\r\n\r\n", at);
    if (end < 0) break;
    const [line = "", ...fields] = bytes.toString("latin1", at, end).split("\r\n");
    const match = /^HTTP\/1\.1 (\d{3}) /.exec(line);
    if (match === null) throw new Error(`no status line: ${line.slice(0, 200)}`);
    const headers = new Map(fields.map((field) => splitHeader(field)));
    const status = Number(match[1]);
    at = end + 4;
    if (status === 100) continue;
    const { body, next, complete } = parseBody(bytes, at, { status, headers });
    answers.push({ status, headers, body, complete });
    at = next;
  }
  return answers;
}

function splitHeader(field: string): readonly [string, string] {
  const colon = field.indexOf(":");
  return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
}

function parseBody(
  bytes: Buffer,
  from: number,
  { status, headers }: Pick<RawAnswer, "status" | "headers">,
): { readonly body: string; readonly next: number; readonly complete: boolean } {
  if (status === 204 || status === 304) return { body: "", next: from, complete: true };
  if (headers.get("transfer-encoding") === "chunked") return parseChunks(bytes, from);
  const length = headers.get("content-length");
  // Without a length, the body ends with the connection, and its completeness is unknown.
  const next = length === undefined ? bytes.length : Math.min(bytes.length, from + Number(length));
  const complete = length !== undefined && next === from + Number(length);
  return { body: bytes.toString("utf8", from, next), next, complete };
}

function parseChunks(bytes: Buffer, from: number): ReturnType<typeof parseBody> {
  const parts: Buffer[] = [];
  let at = from;
  for (;;) {
    const line = bytes.indexOf("\r\n", at);
    const size = line < 0 ? Number.NaN : Number.parseInt(bytes.toString("latin1", at, line), 16);
    const start = line + 2;
    if (Number.isNaN(size) || start + size + 2 > bytes.length) {
      if (!Number.isNaN(size)) parts.push(bytes.subarray(start));
      return { body: Buffer.concat(parts).toString(), next: bytes.length, complete: false };
    }
    parts.push(bytes.subarray(start, start + size));
    at = start + size + 2;
    if (size === 0) return { body: Buffer.concat(parts).toString(), next: at, complete: true };
  }
}
