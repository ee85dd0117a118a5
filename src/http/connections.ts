import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

/** The connections of a listener, after their TLS handshake. */
export interface Connections {
  add(socket: Socket): void;
  /** Registers a new request. False if its connection is closing: the request must not be handled. */
  begin(request: IncomingMessage): boolean;
  /** Ends a request after its response. The rest of its body is read and dropped for a while. */
  end(request: IncomingMessage): void;
  /** Ends the connection after the written data. Further input is read and dropped for a while. */
  closeSoon(socket: Socket): void;
  /** Destroys connections that have not sent a byte. */
  destroyUnused(): void;
  /** Destroys connections that are closing, or that were opened a while ago and have not sent a byte. */
  makeRoom(): void;
  /** Destroys connections whose client has not read a byte of the response for `stalledMs`. Called at intervals. */
  destroyStalled(stalledMs: number): void;
}

interface Connection {
  readonly since: number;
  /** The newest request. */
  request: IncomingMessage | undefined;
  isClosing: boolean;
  /** How many bytes the client has read, and when it last read some. */
  readByClient: number;
  readAt: number;
}

/**
 * After a response, input is read and dropped until none arrives for QUIET_MS, but no longer than LONGEST_MS. Otherwise, the
 * client may not see the response.
 */
const QUIET_MS = 1_000;
const LONGEST_MS = 10_000;

export function openConnections(now: () => number): Connections {
  const connections = new Map<Socket, Connection>();

  /** Drops input until `isDone`. Destroys the connection if no input arrives for a while, or after the time limit. */
  function dropUntil(socket: Socket, isDone: () => boolean): void {
    let read = socket.bytesRead;
    let rounds = 0;
    const timer = setInterval(() => {
      if (isDone()) return clearInterval(timer);
      rounds++;
      if (socket.bytesRead === read || rounds * QUIET_MS >= LONGEST_MS) socket.destroy();
      read = socket.bytesRead;
    }, QUIET_MS).unref();
    socket.once("close", () => clearInterval(timer));
  }

  function closeSoon(socket: Socket): void {
    const connection = connections.get(socket);
    if (connection?.isClosing === true) return;
    if (connection !== undefined) connection.isClosing = true;
    socket.end();
    dropUntil(socket, () => false);
  }

  return {
    add(socket) {
      const time = now();
      const connection: Connection = {
        since: time,
        request: undefined,
        isClosing: false,
        readByClient: 0,
        readAt: time,
      };
      connections.set(socket, connection);
      const originalDestroySoon = socket.destroySoon;
      // Node calls it after the last response. Closing while the client still sends would cause a reset, which may discard
      // the response.
      socket.destroySoon = () => {
        if (connection.request?.complete === false) closeSoon(socket);
        else originalDestroySoon.call(socket);
      };
      socket.once("close", () => connections.delete(socket));
    },
    begin(request) {
      const connection = connections.get(request.socket);
      if (connection === undefined || connection.isClosing) {
        request.resume();
        return false;
      }
      connection.request = request;
      return true;
    },
    end(request) {
      const { socket } = request;
      if (request.complete || socket.destroyed || connections.get(socket)?.isClosing === true) return;
      request.resume();
      dropUntil(socket, () => request.complete);
    },
    closeSoon,
    destroyUnused() {
      for (const socket of connections.keys()) if (socket.bytesRead === 0) socket.destroy();
    },
    makeRoom() {
      const time = now();
      for (const [socket, { isClosing, since }] of connections) {
        if (isClosing || (socket.bytesRead === 0 && time - since >= QUIET_MS)) socket.destroy();
      }
    },
    destroyStalled(stalledMs) {
      const time = now();
      for (const [socket, connection] of connections) {
        const readByClient = socket.bytesWritten - socket.writableLength;
        if (socket.writableLength === 0 || readByClient !== connection.readByClient) {
          connection.readByClient = readByClient;
          connection.readAt = time;
        } else if (time - connection.readAt >= stalledMs) socket.destroy();
      }
    },
  };
}
