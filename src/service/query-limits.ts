import type { EngineOptions } from "../engines/embedded-engine.ts";

/** Of queries that mostly wait for another machine. */
const REMOTE_QUERIES_PER_CORE = 4;
/** Beyond this many, 2 per core are enough: with more, each takes longer and holds its memory longer. */
const REMOTE_QUERIES_AT_FULL_RATE = 16;
const MAX_QUERIES = 64;
const ASSUMED_CORES = 8;

/** How many queries run at once: as many as configured, or as the cores allow. See docs/decisions/0026-query-slots.md. */
export function queryLimits(
  configured: number | undefined,
  availableCores = ASSUMED_CORES,
): Pick<EngineOptions, "maxConcurrentQueries" | "maxLocalQueries"> {
  if (configured !== undefined) return { maxConcurrentQueries: configured, maxLocalQueries: configured };
  const cores = Math.ceil(availableCores);
  const onFewCores = Math.min(REMOTE_QUERIES_AT_FULL_RATE, cores * REMOTE_QUERIES_PER_CORE);
  return {
    maxConcurrentQueries: Math.min(MAX_QUERIES, Math.max(onFewCores, cores * 2)),
    // One more than can compute, so that none of the cores is idle between two queries.
    maxLocalQueries: Math.min(MAX_QUERIES, cores + 1),
  };
}
