import type { RequestHandler } from "./listen.ts";

/** A request handler that can be paused. */
export interface Holdable {
  readonly handle: RequestHandler;
  /** New requests wait until the returned function is called. */
  hold(): () => void;
}

export function holdable(answer: RequestHandler): Holdable {
  let waiting: (() => void)[] | undefined;
  return {
    handle(request, response) {
      if (waiting === undefined) answer(request, response);
      else waiting.push(() => answer(request, response));
    },
    hold() {
      const held: (() => void)[] = [];
      waiting = held;
      return () => {
        waiting = undefined;
        for (const begin of held) begin();
      };
    },
  };
}
