import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { ConnectionLimit } from "./connection-limit.ts";
import { type Connections, openConnections } from "./connections.ts";
import { rejectionOf, rejectionText, statusOfError, statusOfHeaders } from "./rejection.ts";
import { createTlsServer, type TlsOptions, type TlsServer } from "./tls-server.ts";

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** An open port. */
export interface Listener {
  readonly url: string;
  /** Stops accepting connections. Resolves after the last response, or after `destroy`. */
  close(): Promise<void>;
  /** Resolves when all current responses have ended. */
  whenSettled(): Promise<void>;
  /** Closes every connection immediately. */
  destroy(): void;
}

/** A port could not be opened. */
export class ListenError extends Error {}

/** Larger header blocks get 431. */
const MAX_HEADER_BYTES = 16 * 1024;
/** Longer than the idle timeout of common load balancers, so that these close first. */
const KEEP_ALIVE_MS = 75_000;
const HEADERS_TIMEOUT_MS = 30_000;
const REQUEST_TIMEOUT_MS = 300_000;
const STALLED_MS = 60_000;

/** The timeouts for clients, in milliseconds. */
export interface ClientTimeouts {
  /** For the headers, from the first byte of the request. For the first request, from the start of the connection. */
  readonly headersMs: number;
  /** For the whole request. */
  readonly requestMs: number;
  /** Between two requests. */
  readonly idleMs: number;
  /** For a client that does not read a byte of the response. */
  readonly stalledMs: number;
  /** How often the timeouts are checked. */
  readonly checkMs: number;
}

const DEFAULT_TIMEOUTS: ClientTimeouts = {
  headersMs: HEADERS_TIMEOUT_MS,
  requestMs: REQUEST_TIMEOUT_MS,
  idleMs: KEEP_ALIVE_MS,
  stalledMs: STALLED_MS,
  checkMs: 5_000,
};

function settingsOf({ headersMs, requestMs, idleMs, checkMs }: ClientTimeouts): ServerOptions {
  return {
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: idleMs,
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: checkMs,
    // `statusOfHeaders` checks for it instead, so that the error response has a JSON body.
    requireHostHeader: false,
  };
}

/**
 * Opens a port for HTTP, or for HTTPS if `tls` is set. Only well-formed requests reach `handle`. Rejects with a ListenError
 * or a CertificateError.
 */
export async function listen(options: {
  readonly host: string;
  readonly port: number;
  readonly handle: RequestHandler;
  readonly tls?: TlsOptions | undefined;
  /** By default, only the operating system limits the number of connections. */
  readonly limit?: ConnectionLimit | undefined;
  readonly timeouts?: Partial<ClientTimeouts>;
}): Promise<Listener> {
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const settings = settingsOf(timeouts);
  const open = new Set<ServerResponse>();
  const connections = openConnections(() => performance.now());
  let isClosing = false;
  function onResponseClosed(this: ServerResponse): void {
    open.delete(this);
    if (!this.req.complete) connections.end(this.req);
    // The connection becomes idle later in this iteration of the event loop.
    if (isClosing) setImmediate(() => server.closeIdleConnections());
  }
  function onRequest(request: IncomingMessage, response: ServerResponse): void {
    if (!connections.begin(request)) return;
    open.add(response);
    response.once("close", onResponseClosed);
    if (isClosing) response.shouldKeepAlive = false;
    const status = statusOfHeaders(request);
    if (status === undefined) options.handle(request, response);
    else rejectRequest(request, response, status);
  }
  /** Rejects a request because of its headers. Later parser errors in its body are ignored. */
  function rejectRequest({ socket }: IncomingMessage, response: ServerResponse, status: number): void {
    rejected.add(socket);
    const { headers, body } = rejectionOf(status);
    response.writeHead(status, headers).end(body);
  }
  const tls = options.tls && (await createTlsServer(options.tls, settings, onRequest));
  const server: Server = tls?.server ?? createServer(settings, onRequest);
  server.on(tls === undefined ? "connection" : "secureConnection", connections.add);
  const rejected = new WeakSet<Socket>();
  tls?.server.prependListener("tlsClientError", (_error, socket) => {
    // The TLS handshake failed, so no response can be encrypted. Node also emits a clientError, which is ignored below.
    rejected.add(socket);
    socket.destroy();
  });
  server.on("clientError", (error, socket: Socket) => {
    // Data after a malformed request causes further errors.
    if (rejected.has(socket)) return;
    rejected.add(socket);
    rejectAfter([...open], socket, () => rejectConnection(socket, statusOfError(error), connections));
  });
  server.on("connect", (_request, socket: Socket) => {
    // Node has detached from this connection, so nothing else reads it or handles its errors.
    socket.on("error", () => {});
    rejectConnection(socket.resume(), 405, connections);
  });
  server.on("checkExpectation", (request, response) => {
    if (connections.begin(request)) rejectRequest(request, response, 417);
  });
  await new Promise<void>((resolve, reject) => {
    // Stays registered, because connections that cannot be accepted cause errors later.
    server.on("error", (error: NodeJS.ErrnoException) => reject(new ListenError(listenErrorMessage(error, options))));
    server.listen(options.port, options.host, resolve);
  });
  options.limit?.track(server, () => {
    connections.makeRoom();
    server.closeIdleConnections();
  });
  tls?.watchFiles();
  const stalledTimer = setInterval(() => connections.destroyStalled(timeouts.stalledMs), timeouts.checkMs).unref();
  return listenerOf(server, { tls, open }, () => {
    isClosing = true;
    clearInterval(stalledTimer);
    tls?.unwatchFiles();
    // So that clients send the next request to another instance.
    for (const response of open) response.shouldKeepAlive = false;
    // Closes connections that have not sent a byte. Requests that have started are still read.
    connections.destroyUnused();
  });
}

interface ListenerState {
  readonly tls: TlsServer | undefined;
  readonly open: ReadonlySet<ServerResponse>;
}

function listenerOf(server: Server, { tls, open }: ListenerState, beginClosing: () => void): Listener {
  // A server on a TCP port has this type of address.
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
    async whenSettled() {
      await Promise.all([...open].map((response) => new Promise((resolve) => response.once("close", resolve))));
    },
    destroy() {
      server.closeAllConnections();
      tls?.endHandshakes();
    },
  };
}

/** Rejects malformed data, but only after the responses to earlier requests on the connection. */
function rejectAfter(open: readonly ServerResponse[], socket: Socket, rejectNow: () => void): void {
  const pending = open.filter(({ req, writableFinished }) => req.socket === socket && !writableFinished);
  const last = pending.at(-1);
  if (last?.req.complete === true) last.once("finish", rejectNow);
  // The error is in the body of a request. If its response has started, a second response would look like part of it.
  else if (pending.length > 1 || last?.headersSent === true) socket.destroy();
  else rejectNow();
}

/** Responds to data that is not a valid request, and closes the connection. */
function rejectConnection(socket: Socket, status: number, connections: Connections): void {
  if (socket.writable) socket.write(rejectionText(status));
  connections.closeSoon(socket);
}

function listenErrorMessage(error: NodeJS.ErrnoException, { host, port }: { host: string; port: number }): string {
  const address = `${host}:${port}`;
  switch (error.code) {
    case "EADDRINUSE":
      return `cannot listen on ${address}: the port is in use; stop the program that uses it or choose another port with --port`;
    case "EACCES":
      return `cannot listen on ${address}: permission denied; ports below 1024 need elevated privileges; choose another port with --port`;
    case "EADDRNOTAVAIL":
      return `cannot listen on ${address}: this machine has no such address; choose another with --host`;
    case "ENOTFOUND":
      return `cannot listen on ${address}: the host name is unknown; choose another with --host`;
    default:
      return `cannot listen on ${address}: ${error.message}`;
  }
}
