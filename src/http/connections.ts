import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

/** The connections of a listener that have their keys, if they need any. None outlives its last response for long. */
export interface Connections {
  add(socket: Socket): void;
  /** Notes a new request. False when its connection has had its last response: the request must not be handled. */
  begin(request: IncomingMessage): boolean;
  /** The response to a request has ended. What the client still sends of the request is read and dropped, for a while. */
  end(request: IncomingMessage): void;
  /** Sends what is written and the end of it; then what still comes is dropped, for a while. */
  closeSoon(socket: Socket): void;
  /** Destroys those that have not sent a byte. */
  destroySilent(): void;
  /** Destroys those that are not in use: they have had their last response, or have been silent from the start. */
  makeRoom(): void;
  /** Destroys those whose client has not taken a byte of what is sent for `stalledMs`. Called at intervals. */
  destroyStalled(stalledMs: number): void;
}

interface Connection {
  readonly since: number;
  /** The newest one. */
  request: IncomingMessage | undefined;
  isClosing: boolean;
  /** What the client had taken when it was last seen to take something, and when that was. */
  taken: number;
  takenAt: number;
}

/** What a client sends after its response is read, so that it gets to see the response; up to these bounds. */
const QUIET_MS = 1_000;
const LONGEST_MS = 10_000;

export function openConnections(now: () => number): Connections {
  const connections = new Map<Socket, Connection>();

  /** Destroys the connection when nothing comes for a moment or too much, unless the client is done before. */
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
      const connection: Connection = { since: time, request: undefined, isClosing: false, taken: 0, takenAt: time };
      connections.set(socket, connection);
      const destroyAtOnce = socket.destroySoon;
      // Node calls it after the last response. A close while the client still sends is a reset, which may eat the response.
      socket.destroySoon = () => {
        if (connection.request?.complete === false) closeSoon(socket);
        else destroyAtOnce.call(socket);
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
    destroySilent() {
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
        const taken = socket.bytesWritten - socket.writableLength;
        if (socket.writableLength === 0 || taken !== connection.taken) {
          connection.taken = taken;
          connection.takenAt = time;
        } else if (time - connection.takenAt >= stalledMs) socket.destroy();
      }
    },
  };
}
