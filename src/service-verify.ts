import type { Sources } from "./calls/sources.ts";
import type { Problem } from "./config/problem.ts";
import type { Endpoint } from "./endpoint/endpoint.ts";
import { type Depth, verifyEndpoint } from "./endpoint/verify-endpoint.ts";
import type { Engine } from "./engines/engine.ts";
import { RequestFailure } from "./failure.ts";

const VERIFIED_AT_ONCE = 4;

export interface Compiled {
  readonly endpoint: Endpoint;
  readonly problems: readonly Problem[];
}

/** An endpoint whose connections could not be reached at start is verified when they can. */
export async function verifyLate(endpoint: Endpoint, engine: Engine, sources: Sources): Promise<Endpoint> {
  await sources.open(endpoint.connections);
  const { endpoint: verified, problems } = await verifyEndpoint(endpoint, engine, "plan");
  const error = problems.find(({ severity }) => severity === "error");
  if (error !== undefined) throw new RequestFailure({ kind: "query-failed", message: error.message });
  return verified;
}

export interface Verified {
  readonly endpoint: Endpoint;
  readonly depth: Depth;
}

/** Holds every template against the database, as far as its connections can be reached. */
export async function verifyAll(
  compiled: readonly Compiled[],
  engine: Engine,
  sources: Sources,
): Promise<{ endpoints: readonly Verified[]; problems: readonly Problem[] }> {
  const results: { verified: Verified; problems: readonly Problem[] }[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < compiled.length; index = next++) {
      const { endpoint, problems } = compiled[index] as Compiled;
      const depth: Depth = endpoint.connections.every(sources.isOpen) ? "plan" : "parse";
      // A template with problems of its own gives the database only nonsense to complain about.
      const broken = problems.some(({ severity }) => severity === "error");
      const result = broken ? { endpoint, problems: [] } : await verifyEndpoint(endpoint, engine, depth);
      results[index] = { verified: { endpoint: result.endpoint, depth }, problems: result.problems };
    }
  };
  await Promise.all(Array.from({ length: VERIFIED_AT_ONCE }, work));
  return {
    endpoints: results.map(({ verified }) => verified),
    problems: results.flatMap(({ problems }) => problems),
  };
}
