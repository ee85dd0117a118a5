import type { RequestHandler } from "./listen.ts";

/** A handler whose requests can be made to wait. */
export interface Holdable {
  readonly handle: RequestHandler;
  /** From now on requests wait, until what it gives back is called. */
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
