import type { ConnectionStatus } from "../calls/connection-status.ts";
import type { Problem } from "../config/problem.ts";
import { namesCreatedBy, toleratingMissing } from "../endpoint/created-tables.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { type Depth, verifyEndpoint } from "../endpoint/verify-endpoint.ts";
import { dialectOf, dialectOfTemplates, withFunctions } from "../endpoint/verify-functions.ts";
import type { Engine } from "../engines/engine.ts";
import { RequestFailure } from "../failure.ts";

const VERIFIED_AT_ONCE = 4;

export interface CompiledEndpoint {
  readonly endpoint: Endpoint;
  readonly problems: readonly Problem[];
}

/** Verifies an endpoint whose connections were down at startup. */
export async function verifyLate(endpoint: Endpoint, engine: Engine, sources: ConnectionStatus): Promise<Endpoint> {
  await sources.open(endpoint.connections);
  const known = withFunctions(endpoint, await dialectOf([endpoint], engine), engine.dialect);
  const { endpoint: verified, problems } = await verifyEndpoint(known.endpoint, engine, "plan");
  const error = [...known.problems, ...problems].find(({ severity }) => severity === "error");
  if (error !== undefined) throw new RequestFailure({ kind: "query-failed", message: error.message });
  return verified;
}

export interface VerifiedEndpoint {
  readonly endpoint: Endpoint;
  readonly depth: Depth;
}

export interface VerificationContext {
  readonly engine: Engine;
  readonly sources: ConnectionStatus;
  /** The `init` SQL of all connections. */
  readonly inits: readonly string[];
}

/**
 * Verifies every template: planned when its connections are open, else only parsed. One that needs a table that another
 * template or an `init` creates is verified by its first call.
 */
export async function verifyAll(
  compiled: readonly CompiledEndpoint[],
  { engine, sources, inits }: VerificationContext,
): Promise<{ endpoints: readonly VerifiedEndpoint[]; problems: readonly Problem[] }> {
  const isOpen = ({ endpoint }: CompiledEndpoint): boolean => endpoint.connections.every(sources.isOpen);
  const endpoints = compiled.map(({ endpoint }) => endpoint);
  const closed = dialectOfTemplates(endpoints, engine.dialect);
  const open = compiled.some(isOpen) ? await dialectOf(endpoints, engine) : closed;
  const created = namesCreatedBy(endpoints, inits, engine.dialect);
  const results: { verified: VerifiedEndpoint; problems: readonly Problem[] }[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < compiled.length; index = next++) {
      const { endpoint, problems } = compiled[index] as CompiledEndpoint;
      const depth: Depth = isOpen({ endpoint, problems }) ? "plan" : "parse";
      const known = withFunctions(endpoint, depth === "plan" ? open : closed, engine.dialect);
      // The database would only repeat the problems of a broken template.
      const broken = [...problems, ...known.problems].some(({ severity }) => severity === "error");
      const planner = toleratingMissing(engine, created);
      const result = broken ? { endpoint, problems: [] } : await verifyEndpoint(known.endpoint, planner.engine, depth);
      results[index] = {
        verified: { endpoint: result.endpoint, depth: planner.hasMissed() ? "parse" : depth },
        problems: [...known.problems, ...result.problems],
      };
    }
  };
  await Promise.all(Array.from({ length: VERIFIED_AT_ONCE }, work));
  return {
    endpoints: results.map(({ verified }) => verified),
    problems: results.flatMap(({ problems }) => problems),
  };
}
