import { connect } from "node:net";
import { until } from "./until.ts";

/** One HTTP answer as its bytes tell it. */
export interface RawAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  /** False when the connection ended before the body did. */
  readonly complete: boolean;
}

/** A bare connection: bytes out, bytes in, nothing made nicer on the way. */
export interface RawSocket extends Disposable {
  send(bytes: string | Uint8Array): void;
  /** Says that nothing more will be sent; what comes is still read. */
  half(): void;
  /** Ends the connection as a client does that goes away in order. */
  close(): void;
  /** Ends it with a reset. */
  reset(): void;
  /** Stops and goes on reading. */
  pause(): void;
  resume(): void;
  received(): Buffer;
  answers(): readonly RawAnswer[];
  /** Whether the other side, or an error, has ended the connection. */
  isClosed(): boolean;
  /** Whether it ended with an error instead of in order. */
  wasReset(): boolean;
  /** The first `count` answers, each complete or cut off by the end of the connection. */
  take(count: number): Promise<readonly RawAnswer[]>;
  closed(): Promise<void>;
}

/** Connects to the address of a listener. */
export async function openSocket(url: string): Promise<RawSocket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  const chunks: Buffer[] = [];
  let closed = false;
  let reset = false;
  await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  // A reset is one of the ways in which a connection ends.
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
    half: () => void socket.end(),
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
    closed: async () => void (await until("the end of the connection", () => closed)),
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

/** Every answer in a stream of bytes; interim ones (100 Continue) are left out. */
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
  // Without a length the body ends with the connection, and nobody can tell whether it is complete.
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
