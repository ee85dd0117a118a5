import { openClientQuota } from "../bounded/client-quota.ts";
import type { McpEvent } from "./events.ts";

/** Somebody who listens. */
export interface Listener {
  hear(event: McpEvent): void;
  /** The service stops: the stream ends as the protocol has it. */
  end(): void;
}

/** Who wants to listen. */
export interface Listening {
  /** As `clientKey` names it. */
  readonly client: string;
  /** What its request holds for as long as the stream is open. */
  readonly bytes: number;
}

/** The streams that stay open: who listens to what. */
export interface Streams {
  /** Gives back the way to leave; undefined when too many listen, or this client has too many streams. */
  open(listener: Listener, listening: Listening): (() => void) | undefined;
  publish(event: McpEvent): void;
  endAll(): void;
  count(): number;
}

/** Each is a connection and a place in every list of listeners. */
const MAX_STREAMS = { total: 1_024, perClient: 128 };
const MIB = 1024 * 1024;
const MAX_BYTES = { total: 32 * MIB, perClient: 4 * MIB };

export function openStreams(limits = MAX_STREAMS): Streams {
  const listeners = new Map<Listener, Listening>();
  const counts = openClientQuota(limits);
  const bytes = openClientQuota(MAX_BYTES);

  function leave(listener: Listener): void {
    const listening = listeners.get(listener);
    if (listening === undefined) return;
    listeners.delete(listener);
    counts.give(listening.client, 1);
    bytes.give(listening.client, listening.bytes);
  }

  return {
    open(listener, listening) {
      const { client } = listening;
      if (!counts.take(client, 1)) return undefined;
      if (!bytes.take(client, listening.bytes)) {
        counts.give(client, 1);
        return undefined;
      }
      listeners.set(listener, listening);
      return () => leave(listener);
    },
    publish(event) {
      for (const listener of [...listeners.keys()]) listener.hear(event);
    },
    endAll() {
      for (const listener of [...listeners.keys()]) {
        listener.end();
        leave(listener);
      }
    },
    count: () => listeners.size,
  };
}
