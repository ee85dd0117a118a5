import type { Server } from "node:net";
import type { Report } from "../events.ts";

/** Limits the total number of connections of several listeners. */
export interface ConnectionLimit {
  /** Counts the connections of this server. `makeRoom` closes connections that are not in use. */
  track(server: Server, makeRoom: () => void): void;
}

const DEPENDENCY = "accepting connections";
/** The limit is reported as free again if this share is unused, and no connection was rejected for a while. */
const FREE_SHARE = 1 / 16;
const RECOVERED_AFTER_MS = 5_000;
const MAKE_ROOM_EVERY_MS = 1_000;
const RAISE = "raise the limit of open files (ulimit -n, LimitNOFILE)";

/** Closes excess connections immediately. Otherwise, the process could run out of file descriptors. */
export function openConnectionLimit(
  max: number,
  { report, now }: { readonly report: Report; readonly now: () => number },
): ConnectionLimit {
  const servers: { readonly server: Server; readonly makeRoom: () => void; count: number }[] = [];
  let open = 0;
  let isFull = false;
  let fullAt = 0;
  let madeRoomAt = Number.NEGATIVE_INFINITY;

  function addToCount(by: 1 | -1): void {
    open += by;
    // For Node, 0 means no limit.
    for (const each of servers) each.server.maxConnections = Math.max(1, each.count + max - open);
    if (!isFull || open > max * (1 - FREE_SHARE) || now() - fullAt < RECOVERED_AFTER_MS) return;
    isFull = false;
    report({ kind: "dependency-up", dependency: DEPENDENCY });
  }

  function reportFull(message: string): void {
    fullAt = now();
    if (!isFull) report({ kind: "dependency-down", dependency: DEPENDENCY, message });
    isFull = true;
  }

  function onDrop(): void {
    reportFull(`all ${max} are in use, and new ones are closed until some end; ${RAISE}`);
    if (fullAt - madeRoomAt < MAKE_ROOM_EVERY_MS) return;
    madeRoomAt = fullAt;
    for (const { makeRoom } of servers) makeRoom();
  }

  return {
    track(server, makeRoom) {
      const entry = { server, makeRoom, count: 0 };
      servers.push(entry);
      server.maxConnections = Math.max(1, max - open);
      server.on("drop", onDrop);
      server.on("error", ({ code }: NodeJS.ErrnoException) => {
        // Other files use the descriptors, so closing connections would not help for long.
        if (code !== "EMFILE" && code !== "ENFILE") return;
        reportFull(
          `there are no file descriptors left (${code}), and new connections are closed until there are; ${RAISE}`,
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
