import type { McpEvent } from "./events.ts";

/** Somebody who listens. */
export interface Listener {
  hear(event: McpEvent): void;
  /** The service stops: the stream ends as the protocol has it. */
  end(): void;
}

/** The streams that stay open: who listens to what. */
export interface Streams {
  /** Gives back the way to leave; undefined when too many listen. */
  open(listener: Listener): (() => void) | undefined;
  publish(event: McpEvent): void;
  endAll(): void;
  count(): number;
}

/** Each is a connection and a place in every list of listeners. */
const MAX_STREAMS = 1_024;

export function openStreams(limit = MAX_STREAMS): Streams {
  const listeners = new Set<Listener>();
  return {
    open(listener) {
      if (listeners.size >= limit) return undefined;
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    publish(event) {
      for (const listener of [...listeners]) listener.hear(event);
    },
    endAll() {
      for (const listener of [...listeners]) listener.end();
      listeners.clear();
    },
    count: () => listeners.size,
  };
}
