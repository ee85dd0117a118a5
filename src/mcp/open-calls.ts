import type { Stop } from "../engines/stop.ts";
import { type Failure, RequestFailure } from "../failure.ts";
import type { JsonText, McpCall } from "./mcp-service.ts";

/** A call on its way, and the ways to end it. */
export interface OpenCall {
  readonly call: McpCall;
  readonly stop: Stop;
  /** It goes on without its request: nobody hears of its progress, and whoever leaves does not end it. */
  detach(): void;
  close(): void;
}

/** The calls that are being answered. */
export interface OpenCalls {
  /** Gives back the way to take it out. Without a scope nobody can call it off by its id. */
  add(stop: Stop, scope: string | undefined, id: JsonText): () => void;
  /** Ends the call that a client names by its own id. Of two with the same id nobody knows which is meant: none ends. */
  cancel(scope: string, id: JsonText): void;
  cancelAll(failure: Failure): void;
  count(): number;
}

export function openCalls(): OpenCalls {
  const all = new Set<Stop>();
  const named = new Map<string, Set<Stop>>();
  return {
    add(stop, scope, id) {
      all.add(stop);
      if (scope === undefined) return () => all.delete(stop);
      const key = `${scope}\n${id}`;
      const same = named.get(key) ?? new Set();
      named.set(key, same.add(stop));
      return () => {
        all.delete(stop);
        same.delete(stop);
        if (same.size === 0 && named.get(key) === same) named.delete(key);
      };
    },
    cancel(scope, id) {
      const [only, second] = named.get(`${scope}\n${id}`) ?? [];
      if (second === undefined) only?.abort(new RequestFailure({ kind: "cancelled" }));
    },
    cancelAll(failure) {
      for (const stop of [...all]) stop.abort(new RequestFailure(failure));
    },
    count: () => all.size,
  };
}
