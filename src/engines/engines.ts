import type { EmbeddedEngine } from "./embedded-engine.ts";
import type { Engine } from "./engine.ts";

/** The engines of a project. */
export interface Engines {
  /** Holds caches and records, and runs the SQL of connections that name no other engine. */
  readonly engine: EmbeddedEngine;
  /** The engine that runs the SQL of an endpoint with these connections. */
  engineOf(connections: readonly string[]): Engine;
}
