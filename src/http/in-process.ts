import { createServer, request as sendRequest } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import type { RequestHandler } from "./listen.ts";

export interface InProcessRequest {
  readonly method: string;
  /** The path and the query, as in a request line. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface InProcessResponse {
  readonly status: number;
  readonly statusText: string;
  /** Names as sent, and values. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: AsyncIterable<Uint8Array>;
  /** Resolves when the handler is done. */
  readonly closed: Promise<void>;
}

/** Sends a request to a handler over a connection inside the process, without a port. Resolves once the headers have arrived. */
export function requestInProcess(handle: RequestHandler, request: InProcessRequest): Promise<InProcessResponse> {
  const { method, target, headers, body } = request;
  const [client, server] = connectedPair();
  // The data does not leave the process, so the connection counts as encrypted where HTTPS is required.
  Object.assign(server, { remoteAddress: "127.0.0.1", encrypted: true });
  const closed = new Promise<void>((resolve) => {
    createServer((received, response) => {
      response.once("close", () => resolve());
      handle(received, response);
    }).emit("connection", server);
  });
  return new Promise((resolve, reject) => {
    const sent = sendRequest({
      method,
      path: target,
      headers: { ...headers, Host: "localhost", Connection: "close" },
      // Node only uses it as a stream.
      createConnection: () => client as unknown as Socket,
    });
    sent.once("error", reject);
    sent.once("response", (response) => {
      const { statusCode = 0, statusMessage: statusText = "", rawHeaders } = response;
      const names = rawHeaders.filter((_, index) => index % 2 === 0);
      const pairs = names.map((name, index) => [name, rawHeaders[2 * index + 1] ?? ""] as const);
      resolve({ status: statusCode, statusText, headers: pairs, body: response, closed });
    });
    sent.end(body);
  });
}

/** One end of a connection. The other end reads what is written to it. */
class ConnectionEnd extends Duplex {
  bytesWritten = 0;
  #other: ConnectionEnd | undefined;
  /** Called when the other end wants more. */
  #onRead: (() => void) | undefined;

  connect(other: ConnectionEnd): void {
    this.#other = other;
  }

  override _read(): void {
    const onRead = this.#onRead;
    this.#onRead = undefined;
    onRead?.();
  }

  override _write(bytes: Uint8Array, _encoding: BufferEncoding, done: () => void): void {
    this.bytesWritten += bytes.length;
    // Node reads no more after an empty chunk.
    if (bytes.length === 0 || this.#other === undefined) done();
    else {
      this.#other.#onRead = done;
      this.#other.push(bytes);
    }
  }

  override _final(done: () => void): void {
    this.#other?.push(null);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const other = this.#other;
    this.#other = undefined;
    // Later, so that the other end still reads what was written.
    setImmediate(() => other?.destroy());
    done(error);
  }
}

function connectedPair(): readonly [ConnectionEnd, ConnectionEnd] {
  const [client, server] = [new ConnectionEnd(), new ConnectionEnd()];
  client.connect(server);
  server.connect(client);
  return [client, server];
}
