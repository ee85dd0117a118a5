import type { ServerResponse } from "node:http";
import type { After } from "../../time-limit.ts";

/** Sends keep-alive comments on streams, so that proxies do not close idle ones. */
export interface KeepAlive {
  add(response: ServerResponse): void;
  close(): void;
}

const INTERVAL_MS = 15_000;

export function openKeepAlive(after: After): KeepAlive {
  const streams = new Set<ServerResponse>();
  let cancel: (() => void) | undefined;
  function sendComments(): void {
    cancel = undefined;
    for (const response of streams) if (!response.writableEnded) response.write(": keep-alive\n\n");
    schedule();
  }
  function schedule(): void {
    if (streams.size > 0) cancel ??= after(INTERVAL_MS, sendComments);
  }
  return {
    add(response) {
      streams.add(response);
      response.once("close", () => streams.delete(response));
      schedule();
    },
    close: () => cancel?.(),
  };
}
