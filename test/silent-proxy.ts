import { createServer, connect as dial, type Server, type Socket } from "node:net";
import { freePort } from "./redis.ts";

/** Forwards connections to a server of the test, like a network that can fall silent. */
export interface SilentProxy extends AsyncDisposable {
  readonly port: number;
  /** How many connections it has accepted. */
  accepted(): number;
  /** Accepts connections and bytes, but forwards nothing. */
  silence(): void;
  /** Forwards what has arrived meanwhile, and everything after that. */
  speak(): void;
  /** Ends all connections, like a device that has forgotten them. */
  reset(): void;
}

export async function silentProxy(target: number): Promise<SilentProxy> {
  const port = await freePort();
  const sockets = new Set<Socket>();
  let isSilent = false;
  let accepted = 0;
  const add = (socket: Socket, other: Socket): void => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("data", (bytes) => other.write(bytes));
    socket.on("close", () => {
      sockets.delete(socket);
      other.destroy();
    });
    if (isSilent) socket.pause();
  };
  const server: Server = createServer((client) => {
    accepted++;
    const upstream = dial(target, "127.0.0.1");
    add(client, upstream);
    add(upstream, client);
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    port,
    accepted: () => accepted,
    silence() {
      isSilent = true;
      for (const socket of sockets) socket.pause();
    },
    speak() {
      isSilent = false;
      for (const socket of sockets) socket.resume();
    },
    reset() {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
