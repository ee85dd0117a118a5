import type { Socket } from "node:net";

/** What lies below an encrypted connection: Node resets nothing else. */
const carriers = new WeakMap<Socket, Socket>();

export function rememberCarrier(socket: Socket, carrier: Socket): void {
  carriers.set(socket, carrier);
}

/** Ends a connection so that its client cannot take what it got for everything. Plain and encrypted ones alike. */
export function resetConnection(socket: Socket): void {
  const carrier = carriers.get(socket) ?? socket;
  if (!carrier.destroyed) carrier.resetAndDestroy();
  socket.destroy();
}
