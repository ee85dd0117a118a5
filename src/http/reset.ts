import type { Socket } from "node:net";

/** The TCP sockets of encrypted connections, because Node can only reset TCP sockets. */
const tcpSockets = new WeakMap<Socket, Socket>();

export function registerTcpSocket(socket: Socket, tcpSocket: Socket): void {
  tcpSockets.set(socket, tcpSocket);
}

/** Resets a connection, so that its client can detect an incomplete response. */
export function resetConnection(socket: Socket): void {
  const tcpSocket = tcpSockets.get(socket) ?? socket;
  if (!tcpSocket.destroyed) tcpSocket.resetAndDestroy();
  socket.destroy();
}
