import type pg from "pg";
import { errorMessage } from "../../../error-message.ts";
import { withTimeLimit } from "../../../time-limit.ts";
import type { Address } from "../options.ts";
import { type Link, type LinkSocket, openLink } from "./link.ts";
import { ConnectionLost } from "./postgres-error.ts";

/** Opens links to one server. */
export interface Connector {
  /** Rejects with the server's or the network's error. */
  connect(): Promise<ServerLink>;
}

export interface ServerLink extends Link {
  /** Asks the server to stop what this link runs. Resolves when the server has received it, or cannot be asked. */
  cancel(): Promise<void>;
}

export interface ConnectorOptions {
  readonly address: Address;
  readonly timeoutMs: number;
  readonly maxMessageBytes: () => number;
  readonly readFile: (path: string) => string | undefined;
}

/** What `pg` does not declare: its socket, and what cancels a query. */
interface Internals {
  readonly connection: { readonly stream: LinkSocket & { removeAllListeners(event: string): unknown } };
  readonly processID: number;
  readonly secretKey: number;
}

type Ssl = pg.ClientConfig["ssl"];

/** How long a cancel request may take. */
const CANCEL_MS = 2_000;

export function openConnector(options: ConnectorOptions): Connector {
  const { address, timeoutMs, maxMessageBytes } = options;
  let ssl = sslOf(options);
  let mayFallBack = address.ssl === "prefer";

  async function logIn(): Promise<Internals> {
    const { default: library } = await import("pg");
    const { host, port, database, user, password, applicationName } = address;
    const client = new library.Client({
      host,
      port,
      ssl,
      keepAlive: true,
      connectionTimeoutMillis: timeoutMs,
      application_name: applicationName,
      ...(database !== undefined && { database }),
      ...(user !== undefined && { user }),
      ...(password !== undefined && { password }),
    });
    // Without a listener, an error event would end the process.
    client.on("error", () => {});
    await client.connect();
    // `pg` logs in; from then on, Eider speaks the protocol itself: `pg` creates a string for each value.
    return client as unknown as Internals;
  }

  async function logInWithFallback(): Promise<Internals> {
    try {
      return await logIn();
    } catch (error) {
      if (!mayFallBack || !/does not support SSL/.test(errorMessage(error))) throw error;
      ssl = false;
      mayFallBack = false;
      return await logIn();
    }
  }

  async function cancel({ processID, secretKey }: Internals): Promise<void> {
    const { default: library } = await import("pg");
    const connection = new library.Connection({
      ssl: ssl || false,
    } as pg.ConnectionConfig) as unknown as CancelConnection;
    const done = new Promise<void>((resolve) => {
      connection.on("error", () => resolve());
      connection.on("end", () => resolve());
      connection.on("connect", () => (ssl ? connection.requestSsl() : connection.cancel(processID, secretKey)));
      connection.on("sslconnect", () => connection.cancel(processID, secretKey));
    });
    connection.connect(address.port, address.host);
    await withTimeLimit(done, CANCEL_MS, () => {});
    connection.stream.destroy();
  }

  return {
    async connect() {
      const internals = await logInWithFallback();
      const { stream } = internals.connection;
      stream.removeAllListeners("data");
      const link = openLink(stream, maxMessageBytes);
      if (link.lost() !== undefined) throw new ConnectionLost("the server closed the connection");
      return { ...link, cancel: () => cancel(internals) };
    },
  };
}

/** The connection of `pg` as it is, which its types declare in part. */
interface CancelConnection {
  readonly stream: { destroy(): unknown };
  on(event: string, listener: () => void): unknown;
  connect(port: number, host: string): void;
  requestSsl(): void;
  cancel(processId: number, secretKey: number): void;
}

function sslOf({ address, readFile }: ConnectorOptions): Ssl {
  const { ssl, sslCa } = address;
  if (ssl === "disable") return false;
  const trusted = sslCa === undefined ? undefined : readFile(sslCa);
  if (sslCa !== undefined && trusted === undefined) throw new Error(`cannot read 'ssl-ca' (${sslCa})`);
  const ca = trusted === undefined ? {} : { ca: trusted };
  switch (ssl) {
    case "prefer":
    case "require":
      // As in libpq: encrypted, but only a certificate authority that is named proves who the server is.
      return trusted === undefined ? { rejectUnauthorized: false } : { ...ca, checkServerIdentity: () => undefined };
    case "verify-ca":
      return { ...ca, checkServerIdentity: () => undefined };
    case "verify-full":
      return { ...ca };
  }
}
