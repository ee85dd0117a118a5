import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { requestIdOf } from "./request-id.ts";

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** A port that is open. */
export interface Listener {
  readonly url: string;
  /** No new connections; resolves when the last call has been answered, or at once after `destroy`. */
  close(): Promise<void>;
  /** Ends every connection now. */
  destroy(): void;
}

/** A port could not be opened. */
export class ListenError extends Error {}

/** Room for one header block. What is larger is answered with 431. */
const MAX_HEADER_BYTES = 16 * 1024;
/** Longer than the idle time of common load balancers, so that it is they who close first. */
const KEEP_ALIVE_MS = 75_000;
const HEADERS_TIMEOUT_MS = 30_000;
const REQUEST_TIMEOUT_MS = 300_000;

/** Opens an HTTP port. Whatever reaches `handle` is well-formed HTTP; the rest is answered here. */
export async function listen(options: {
  readonly host: string;
  readonly port: number;
  readonly handle: RequestHandler;
}): Promise<Listener> {
  const answering = new WeakMap<Duplex, ServerResponse>();
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: 5_000,
      // Answered by us, in JSON.
      requireHostHeader: false,
    },
    (request, response) => {
      answering.set(request.socket, response);
      options.handle(request, response);
    },
  );
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    const response = answering.get(socket);
    // In the middle of an answer another one would look like a part of it.
    if (!socket.writable || (response !== undefined && response.headersSent && !response.writableFinished)) {
      socket.destroy();
      return;
    }
    refuse(socket, statusOf(error.code));
  });
  server.on("connect", (_request, socket) => refuse(socket, 405));
  server.on("checkExpectation", (_request, response) => {
    response.writeHead(417, errorHeaders()).end(errorBody(417));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(new ListenError(whyNot(error, options))));
    server.listen(options.port, options.host, resolve);
  });
  return listenerOf(server);
}

function listenerOf(server: Server): Listener {
  // A server that listens on a TCP port has an address of this form.
  const { address, family, port } = server.address() as AddressInfo;
  const host = family === "IPv6" ? `[${address}]` : address;
  return {
    url: `http://${host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      }),
    destroy: () => server.closeAllConnections(),
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

function errorHeaders(): Record<string, string> {
  return {
    "Content-Type": "application/json",
    "Cache-Control": "no-store",
    "X-Request-Id": requestIdOf(undefined),
    Connection: "close",
  };
}

/** Answers what never became a request, and closes. */
function refuse(socket: Duplex | Socket, status: number): void {
  const body = errorBody(status);
  const headers = { ...errorHeaders(), "Content-Length": String(Buffer.byteLength(body)) };
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
