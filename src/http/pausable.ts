import type { RequestHandler } from "./listen.ts";

/** A request handler that can be paused. */
export interface PausableHandler {
  readonly handle: RequestHandler;
  /** Pauses: new requests wait until the returned function is called. */
  pause(): () => void;
}

export function pausable(handler: RequestHandler): PausableHandler {
  let waiting: (() => void)[] | undefined;
  return {
    handle(request, response) {
      if (waiting === undefined) handler(request, response);
      else waiting.push(() => handler(request, response));
    },
    pause() {
      const queued: (() => void)[] = [];
      waiting = queued;
      return () => {
        waiting = undefined;
        for (const run of queued) run();
      };
    },
  };
}
