import type { ServerResponse } from "node:http";

/** Open documentation pages, which are notified of changes. */
export interface LivePages {
  add(response: ServerResponse, requestId: string): void;
  /** Makes the pages reload, because the project has changed. */
  reload(): void;
  /** Ends every stream. Browsers reconnect by themselves. */
  close(): void;
}

export function openLivePages(): LivePages {
  const open = new Set<ServerResponse>();
  return {
    add(response, requestId) {
      open.add(response);
      response.once("close", () => open.delete(response));
      response.writeHead(200, {
        "Content-Type": "text/event-stream",
        "Cache-Control": "no-store",
        "X-Accel-Buffering": "no",
        "X-Request-Id": requestId,
      });
      response.write("retry: 500\n\n");
    },
    reload() {
      for (const response of open) response.write("event: reload\ndata:\n\n");
    },
    close() {
      for (const response of open) response.end();
    },
  };
}
