import type { Server } from "node:net";
import type { Report } from "../events.ts";

/** Limits the total number of connections across several listeners. */
export interface ConnectionLimit {
  /** Counts the connections of this server. `makeRoom` closes connections that are not in use. */
  track(server: Server, makeRoom: () => void): void;
}

const DEPENDENCY = "accepting connections";
/** Recovery is reported once this share of the limit is unused, and no connection was rejected for RECOVERED_AFTER_MS. */
const FREE_SHARE = 1 / 16;
const RECOVERED_AFTER_MS = 5_000;
const MAKE_ROOM_EVERY_MS = 1_000;
const RAISE = "raise the limit on open files (ulimit -n, LimitNOFILE)";

/** Closes excess connections immediately. Otherwise, the process could run out of file descriptors. */
export function openConnectionLimit(
  max: number,
  { report, now }: { readonly report: Report; readonly now: () => number },
): ConnectionLimit {
  const servers: { readonly server: Server; readonly makeRoom: () => void; count: number }[] = [];
  let open = 0;
  let isFull = false;
  let lastRejectedAt = 0;
  let madeRoomAt = Number.NEGATIVE_INFINITY;

  function addToCount(by: 1 | -1): void {
    open += by;
    // Never 0: before Node 21, that means no limit.
    for (const each of servers) each.server.maxConnections = Math.max(1, each.count + max - open);
    if (!isFull || open > max * (1 - FREE_SHARE) || now() - lastRejectedAt < RECOVERED_AFTER_MS) return;
    isFull = false;
    report({ kind: "dependency-up", dependency: DEPENDENCY });
  }

  function reportFull(message: string): void {
    lastRejectedAt = now();
    if (!isFull) report({ kind: "dependency-down", dependency: DEPENDENCY, message });
    isFull = true;
  }

  function onDrop(): void {
    reportFull(`all ${max} connections are in use, and new ones are closed until some end; ${RAISE}`);
    if (lastRejectedAt - madeRoomAt < MAKE_ROOM_EVERY_MS) return;
    madeRoomAt = lastRejectedAt;
    for (const { makeRoom } of servers) makeRoom();
  }

  return {
    track(server, makeRoom) {
      const entry = { server, makeRoom, count: 0 };
      servers.push(entry);
      server.maxConnections = Math.max(1, max - open);
      server.on("drop", onDrop);
      server.on("error", ({ code }: NodeJS.ErrnoException) => {
        if (code !== "EMFILE" && code !== "ENFILE") return;
        // Does not make room: something else uses the descriptors, so closing connections would not help for long.
        reportFull(
          `no file descriptors are left (${code}), and new connections are closed until some are free; ${RAISE}`,
        );
      });
      server.on("connection", (socket) => {
        entry.count++;
        addToCount(1);
        socket.once("close", () => {
          entry.count--;
          addToCount(-1);
        });
      });
    },
  };
}
