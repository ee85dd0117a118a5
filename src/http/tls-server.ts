import type { RequestListener, ServerOptions } from "node:http";
import { createServer, type Server } from "node:https";
import type { Socket } from "node:net";
import type { Report } from "../events.ts";
import { registerTcpSocket } from "./reset.ts";
import { type Certificate, openCertificate, type TlsFiles } from "./tls.ts";

export interface TlsOptions extends TlsFiles {
  readonly report: Report;
  /** How often the files are checked. Default: 10 seconds. */
  readonly checkEveryMs?: number | undefined;
  /** Default: 30 seconds. */
  readonly handshakeTimeoutMs?: number | undefined;
}

export interface TlsServer {
  readonly server: Server;
  /** Starts checking the files for a new certificate. */
  watchFiles(): void;
  unwatchFiles(): void;
  /** Closes connections that are still in the TLS handshake, which the HTTP server does not track. */
  endHandshakes(): void;
}

const CHECK_EVERY_MS = 10_000;
const HANDSHAKE_TIMEOUT_MS = 30_000;

/** Rejects with a CertificateError. Opens no port. */
export async function createTlsServer(
  tls: TlsOptions,
  settings: ServerOptions,
  handler: RequestListener,
): Promise<TlsServer> {
  const certificate = await openCertificate(tls, tls.report);
  const server = createServer(
    {
      ...settings,
      ...certificate.options(),
      handshakeTimeout: tls.handshakeTimeoutMs ?? HANDSHAKE_TIMEOUT_MS,
      // As in Node's HTTP server: a client that has closed its side still gets the error.
      allowHalfOpen: true,
    },
    handler,
  );
  const { watch, unwatch } = fileWatcher(certificate, server, tls.checkEveryMs ?? CHECK_EVERY_MS);
  return { server, watchFiles: watch, unwatchFiles: unwatch, endHandshakes: trackHandshakes(server) };
}

function fileWatcher(
  certificate: Certificate,
  server: Server,
  everyMs: number,
): { readonly watch: () => void; readonly unwatch: () => void } {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  async function check(): Promise<void> {
    // Open connections keep their keys.
    if (await certificate.renew()) server.setSecureContext(certificate.options());
    if (!isStopped) checkLater();
  }
  function checkLater(): void {
    timer = setTimeout(check, everyMs).unref();
  }
  return {
    watch: checkLater,
    unwatch() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/** Returns a function that closes every connection in a TLS handshake. */
function trackHandshakes(server: Server): () => void {
  // By remote address and port, because Node uses another socket object after the handshake.
  const open = new Map<string, Socket>();
  const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
  server.on("connection", (socket: Socket) => {
    const key = keyOf(socket);
    open.set(key, socket);
    socket.once("close", () => {
      if (open.get(key) === socket) open.delete(key);
    });
  });
  server.on("secureConnection", (socket) => {
    const key = keyOf(socket);
    const tcpSocket = open.get(key);
    if (tcpSocket !== undefined) registerTcpSocket(socket, tcpSocket);
    open.delete(key);
  });
  return () => {
    for (const socket of open.values()) socket.destroy();
  };
}
