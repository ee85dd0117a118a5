import type { Socket } from "node:net";

/** The TCP sockets of encrypted connections, because Node can only reset TCP sockets. */
const carriers = new WeakMap<Socket, Socket>();

export function rememberCarrier(socket: Socket, carrier: Socket): void {
  carriers.set(socket, carrier);
}

/** Resets a connection, so that its client can detect an incomplete response. */
export function resetConnection(socket: Socket): void {
  const carrier = carriers.get(socket) ?? socket;
  if (!carrier.destroyed) carrier.resetAndDestroy();
  socket.destroy();
}
