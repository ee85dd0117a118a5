import { openClientQuota } from "../bounded/client-quota.ts";
import type { McpEvent } from "./events.ts";

/** A subscriber to events. */
export interface Subscriber {
  onEvent(event: McpEvent): void;
  /** Ends the stream as the protocol specifies. */
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
  /** Returns a function that closes the stream. Undefined if a limit is reached, in total or for this client. */
  open(subscriber: Subscriber, cost: StreamCost): (() => void) | undefined;
  publish(event: McpEvent): void;
  endAll(): void;
  count(): number;
}

/** Each stream is a connection, and every event is sent to it. */
const MAX_STREAMS = { total: 1_024, perClient: 128 };
const MIB = 1024 * 1024;
const MAX_BYTES = { total: 32 * MIB, perClient: 4 * MIB };

export function openStreams(limits = MAX_STREAMS): Streams {
  const subscribers = new Map<Subscriber, StreamCost>();
  const counts = openClientQuota(limits);
  const bytes = openClientQuota(MAX_BYTES);

  function remove(subscriber: Subscriber): void {
    const cost = subscribers.get(subscriber);
    if (cost === undefined) return;
    subscribers.delete(subscriber);
    counts.release(cost.client, 1);
    bytes.release(cost.client, cost.bytes);
  }

  return {
    open(subscriber, cost) {
      const { client } = cost;
      if (!counts.take(client, 1)) return undefined;
      if (!bytes.take(client, cost.bytes)) {
        counts.release(client, 1);
        return undefined;
      }
      subscribers.set(subscriber, cost);
      return () => remove(subscriber);
    },
    publish(event) {
      for (const subscriber of [...subscribers.keys()]) subscriber.onEvent(event);
    },
    endAll() {
      for (const subscriber of [...subscribers.keys()]) {
        subscriber.end();
        remove(subscriber);
      }
    },
    count: () => subscribers.size,
  };
}
