import { openClientQuota } from "../bounded/client-quota.ts";
import type { McpEvent } from "./events.ts";

/** A subscriber to events. */
export interface Listener {
  onEvent(event: McpEvent): void;
  /** Ends the stream as the protocol specifies, when the service shuts down. */
  end(): void;
}

/** The quota that a stream uses. */
export interface StreamCost {
  /** The `clientKey` of the client. */
  readonly client: string;
  /** Memory of its request, held while the stream is open. */
  readonly bytes: number;
}

/** The open streams. */
export interface Streams {
  /** Returns a function that closes the stream. Undefined if there are too many, or this client has too many. */
  open(listener: Listener, cost: StreamCost): (() => void) | undefined;
  publish(event: McpEvent): void;
  endAll(): void;
  count(): number;
}

/** Each stream is a connection, and every event is sent to it. */
const MAX_STREAMS = { total: 1_024, perClient: 128 };
const MIB = 1024 * 1024;
const MAX_BYTES = { total: 32 * MIB, perClient: 4 * MIB };

export function openStreams(limits = MAX_STREAMS): Streams {
  const listeners = new Map<Listener, StreamCost>();
  const counts = openClientQuota(limits);
  const bytes = openClientQuota(MAX_BYTES);

  function remove(listener: Listener): void {
    const cost = listeners.get(listener);
    if (cost === undefined) return;
    listeners.delete(listener);
    counts.release(cost.client, 1);
    bytes.release(cost.client, cost.bytes);
  }

  return {
    open(listener, cost) {
      const { client } = cost;
      if (!counts.take(client, 1)) return undefined;
      if (!bytes.take(client, cost.bytes)) {
        counts.release(client, 1);
        return undefined;
      }
      listeners.set(listener, cost);
      return () => remove(listener);
    },
    publish(event) {
      for (const listener of [...listeners.keys()]) listener.onEvent(event);
    },
    endAll() {
      for (const listener of [...listeners.keys()]) {
        listener.end();
        remove(listener);
      }
    },
    count: () => listeners.size,
  };
}
