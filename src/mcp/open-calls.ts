import type { Stop } from "../engines/stop.ts";
import { type Failure, RequestFailure } from "../failure.ts";
import type { JsonText, McpCall } from "./mcp-service.ts";

/** A running call, and how to stop it. */
export interface OpenCall {
  readonly call: McpCall;
  readonly stop: Stop;
  /** Detaches the call from its request: sends no more progress, and a disconnect no longer cancels it. */
  detach(): void;
  close(): void;
}

/** The calls in flight. */
export interface OpenCalls {
  /** Returns a function that removes the call. Without a scope, clients cannot cancel it by its ID. */
  add(stop: Stop, scope: string | undefined, id: JsonText): () => void;
  /** Cancels the client's call with this ID. If two calls have the same ID, cancels neither. */
  cancel(scope: string, id: JsonText): void;
  cancelAll(failure: Failure): void;
  count(): number;
}

export function openCalls(): OpenCalls {
  const all = new Set<Stop>();
  const byId = new Map<string, Set<Stop>>();
  return {
    add(stop, scope, id) {
      all.add(stop);
      if (scope === undefined) return () => all.delete(stop);
      const key = `${scope}\n${id}`;
      const same = byId.get(key) ?? new Set();
      byId.set(key, same.add(stop));
      return () => {
        all.delete(stop);
        same.delete(stop);
        if (same.size === 0 && byId.get(key) === same) byId.delete(key);
      };
    },
    cancel(scope, id) {
      const [only, second] = byId.get(`${scope}\n${id}`) ?? [];
      if (second === undefined) only?.abort(new RequestFailure({ kind: "cancelled" }));
    },
    cancelAll(failure) {
      for (const stop of [...all]) stop.abort(new RequestFailure(failure));
    },
    count: () => all.size,
  };
}
