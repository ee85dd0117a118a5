import type { RequestListener, ServerOptions } from "node:http";
import { createServer, type Server } from "node:https";
import type { Socket } from "node:net";
import type { Report } from "../events.ts";
import { rememberCarrier } from "./reset.ts";
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
  followFiles(): void;
  leaveFiles(): void;
  /** Closes connections that are still in the TLS handshake, which the HTTP server does not track. */
  endHandshakes(): void;
}

const CHECK_EVERY_MS = 10_000;
const HANDSHAKE_TIMEOUT_MS = 30_000;

/** Rejects with a CertificateError. Opens no port. */
export async function createTlsServer(
  tls: TlsOptions,
  settings: ServerOptions,
  answer: RequestListener,
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
    answer,
  );
  const { follow, leave } = fileFollower(certificate, server, tls.checkEveryMs ?? CHECK_EVERY_MS);
  return { server, followFiles: follow, leaveFiles: leave, endHandshakes: trackHandshakes(server) };
}

function fileFollower(
  certificate: Certificate,
  server: Server,
  everyMs: number,
): { readonly follow: () => void; readonly leave: () => void } {
  let timer: NodeJS.Timeout | undefined;
  let left = false;
  async function look(): Promise<void> {
    // Open connections keep their keys.
    if (await certificate.renew()) server.setSecureContext(certificate.options());
    if (!left) lookLater();
  }
  function lookLater(): void {
    timer = setTimeout(look, everyMs).unref();
  }
  return {
    follow: lookLater,
    leave() {
      left = true;
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
    const carrier = open.get(key);
    if (carrier !== undefined) rememberCarrier(socket, carrier);
    open.delete(key);
  });
  return () => {
    for (const socket of open.values()) socket.destroy();
  };
}
