import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { requestIdOf } from "./request-id.ts";
import { createTlsServer, type TlsOptions, type TlsServer } from "./tls-server.ts";

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** A port that is open. */
export interface Listener {
  readonly url: string;
  /** No new connections; resolves when the last call has been answered, or at once after `destroy`. */
  close(): Promise<void>;
  /** Resolves when the calls that are being answered now have been. */
  settled(): Promise<void>;
  /** Ends every connection now. */
  destroy(): void;
}

/** A port could not be opened. */
export class ListenError extends Error {}

/** Room for one header block. What is larger is answered with 431. */
const MAX_HEADER_BYTES = 16 * 1024;
/** Node drops what comes after its two thousandth header and tells nobody. */
const MAX_HEADERS = 1_000;
/** Longer than the idle time of common load balancers, so that it is they who close first. */
const KEEP_ALIVE_MS = 75_000;
const HEADERS_TIMEOUT_MS = 30_000;
const REQUEST_TIMEOUT_MS = 300_000;

/** How long clients may take, in milliseconds. */
export interface Patience {
  /** For the head of a request, from the first byte; for the first one from when the connection was made. */
  readonly headersMs: number;
  /** For the whole request. */
  readonly requestMs: number;
  /** Between two requests. */
  readonly idleMs: number;
  /** How often it is looked who is late. */
  readonly checkMs: number;
}

const PATIENCE: Patience = {
  headersMs: HEADERS_TIMEOUT_MS,
  requestMs: REQUEST_TIMEOUT_MS,
  idleMs: KEEP_ALIVE_MS,
  checkMs: 5_000,
};

function settingsOf({ headersMs, requestMs, idleMs, checkMs }: Patience): ServerOptions {
  return {
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: idleMs,
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: checkMs,
    // Answered by us, in JSON.
    requireHostHeader: false,
  };
}

/**
 * Opens a port for HTTP, or for HTTPS alone when there is `tls`. Whatever reaches `handle` is well-formed HTTP; the rest
 * is answered here. Rejects with a ListenError, or with a CertificateError.
 */
export async function listen(options: {
  readonly host: string;
  readonly port: number;
  readonly handle: RequestHandler;
  readonly tls?: TlsOptions | undefined;
  readonly patience?: Patience;
}): Promise<Listener> {
  const settings = settingsOf(options.patience ?? PATIENCE);
  const open = new Set<ServerResponse>();
  /** Connections that have not asked for anything yet. Node does not count them as idle. */
  const fresh = new Set<Socket>();
  let closing = false;
  function answered(this: ServerResponse): void {
    open.delete(this);
    // Its connection becomes idle in this turn of the event loop.
    if (closing) setImmediate(() => server.closeIdleConnections());
  }
  function answer(request: IncomingMessage, response: ServerResponse): void {
    open.add(response);
    fresh.delete(request.socket);
    response.once("close", answered);
    if (closing) response.shouldKeepAlive = false;
    const status = statusOfHead(request);
    if (status === undefined) options.handle(request, response);
    else response.writeHead(status, errorHeaders(status)).end(errorBody(status));
  }
  const tls = options.tls && (await createTlsServer(options.tls, settings, answer));
  const server: Server = tls?.server ?? createServer(settings, answer);
  server.on(tls === undefined ? "connection" : "secureConnection", (socket: Socket) => {
    fresh.add(socket);
    socket.once("close", () => fresh.delete(socket));
  });
  const refused = new WeakSet<Duplex>();
  tls?.server.prependListener("tlsClientError", (_error, socket) => {
    // Without keys there is no way to answer. Node tells of it as a clientError, too.
    refused.add(socket);
    socket.destroy();
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // Whatever follows what was malformed is malformed as well, and is heard of here.
    if (refused.has(socket)) return;
    refused.add(socket);
    refuseAfter([...open], socket, statusOf(error.code));
  });
  server.on("connect", (_request, socket) => {
    // Node has let go of this connection: nobody else hears its errors.
    socket.on("error", () => {});
    refuse(socket, 405);
  });
  server.on("checkExpectation", (_request, response) => {
    response.writeHead(417, errorHeaders(417)).end(errorBody(417));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(new ListenError(whyNot(error, options))));
    server.listen(options.port, options.host, resolve);
  });
  tls?.followFiles();
  return listenerOf(server, { tls, open }, () => {
    closing = true;
    tls?.leaveFiles();
    // Whoever is told so opens a new connection next time, elsewhere.
    for (const response of open) response.shouldKeepAlive = false;
    // One that has begun to ask is heard.
    for (const socket of fresh) if (socket.bytesRead === 0) socket.destroy();
  });
}

/** What is wrong with a head that Node lets through, if anything. */
function statusOfHead({ rawHeaders, headers, httpVersion }: IncomingMessage): number | undefined {
  if (rawHeaders.length > 2 * MAX_HEADERS) return 431;
  if (httpVersion !== "1.1") return undefined;
  return headers.host !== undefined && hostHeaders(rawHeaders) === 1 ? undefined : 400;
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

interface Listening {
  readonly tls: TlsServer | undefined;
  readonly open: ReadonlySet<ServerResponse>;
}

function listenerOf(server: Server, { tls, open }: Listening, beginClosing: () => void): Listener {
  // A server that listens on a TCP port has an address of this form.
  const { address, family, port } = server.address() as AddressInfo;
  const host = family === "IPv6" ? `[${address}]` : address;
  return {
    url: `${tls === undefined ? "http" : "https"}://${host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        beginClosing();
        server.close(() => resolve());
        server.closeIdleConnections();
        tls?.endHandshakes();
      }),
    async settled() {
      await Promise.all([...open].map((response) => new Promise((resolve) => response.once("close", resolve))));
    },
    destroy() {
      server.closeAllConnections();
      tls?.endHandshakes();
    },
  };
}

function statusOf(code: string | undefined): number {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return 431;
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return 408;
    default:
      return 400;
  }
}

function errorBody(status: number): string {
  return JSON.stringify({ error: STATUS_CODES[status] ?? "Bad Request" });
}

function errorHeaders(status: number): Record<string, string> {
  return {
    "Content-Type": "application/json",
    "Cache-Control": "no-store",
    "X-Request-Id": requestIdOf(undefined),
    ...(status === 405 ? { Allow: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS" } : {}),
    Connection: "close",
  };
}

/** Refuses what came after the requests that are still being answered, when they have been. */
function refuseAfter(open: readonly ServerResponse[], socket: Duplex, status: number): void {
  const pending = open.filter(({ req, writableFinished }) => req.socket === socket && !writableFinished);
  const last = pending.at(-1);
  if (last?.req.complete === true) last.once("finish", () => socket.writable && refuse(socket, status));
  // The body of a request that is being answered already: another answer would look like a part of it.
  else if (pending.length > 1 || last?.headersSent === true) socket.destroy();
  else refuse(socket, status);
}

/** Answers what never became a request, and closes. */
function refuse(socket: Duplex | Socket, status: number): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const body = errorBody(status);
  const headers = { ...errorHeaders(status), "Content-Length": String(Buffer.byteLength(body)) };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("\r\n")}\r\n\r\n${body}`);
}

function whyNot(error: NodeJS.ErrnoException, { host, port }: { host: string; port: number }): string {
  const place = `${host}:${port}`;
  switch (error.code) {
    case "EADDRINUSE":
      return `cannot listen on ${place}: the port is in use; stop what uses it or choose another with --port`;
    case "EACCES":
      return `cannot listen on ${place}: not permitted; ports below 1024 need rights, choose another with --port`;
    case "EADDRNOTAVAIL":
      return `cannot listen on ${place}: this machine has no such address; choose another with --host`;
    case "ENOTFOUND":
      return `cannot listen on ${place}: the host name is unknown; choose another with --host`;
    default:
      return `cannot listen on ${place}: ${error.message}`;
  }
}
