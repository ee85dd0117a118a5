import type { EngineOptions } from "../../embedded-engine.ts";
import { openSlots, type Slots } from "../../queue/slots.ts";
import { remoteConnections, remoteQueries } from "../remote/remote-queries.ts";

/** The slots for the queries of the endpoints and of Eider itself. */
export function openQuerySlots(options: EngineOptions): Slots {
  const { maxConcurrentQueries, maxLocalQueries, maxQueued, connections } = options;
  const limits = connections.flatMap(({ name, maxConcurrency: limit }): [string, number][] =>
    limit === undefined ? [] : [[name, limit]],
  );
  return openSlots({
    size: maxConcurrentQueries,
    maxLocal: maxLocalQueries,
    maxWaiting: maxQueued,
    limits: new Map(limits),
    isRemote: remoteQueries(connections),
    sources: remoteConnections(connections),
  });
}
