import { identityKey } from "../auth/identity.ts";
import type { WriteAction } from "../cache/stale-marks.ts";
import type { WriteStatuses } from "../config/project.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Write } from "../engines/engine.ts";
import type { WriteResult } from "../engines/rows.ts";
import type { WriteOnce } from "../engines/write-once.ts";
import { RequestFailure } from "../failure.ts";
import type { RawParams } from "../params/parameter.ts";
import type { Lookup } from "../sql/render.ts";
import { withLeases } from "./cached-read.ts";
import type { Call } from "./call.ts";
import { noteRendered } from "./call-marks.ts";
import { callerOf } from "./caller.ts";
import type { WriteResponse } from "./idempotency.ts";
import { loggedQuery } from "./logged-query.ts";
import { requireOne } from "./one-row.ts";
import { type CallServices, statementsOf } from "./run-endpoint.ts";
import { untilOpen } from "./until-open.ts";
import { validateCall } from "./validate-call.ts";

/** The response to a write. */
export interface WrittenResponse extends WriteResponse {
  readonly status: WriteStatuses["changed"];
}

/** A call to a write endpoint. */
export interface WriteCall extends Call {
  /** With a key, the write runs only once. */
  readonly idempotencyKey: string | undefined;
  /** `earlier`: the response to the statements that a previous request with the same key committed, if they returned rows. */
  readonly encode: (written: WriteResult, earlier?: string) => Promise<string>;
}

/**
 * Validates, renders, runs and commits a write. When it resolves, the write is durable. When it rejects with a RequestFailure,
 * nothing was changed, except with `transaction: false`.
 */
export async function runWrite(endpoint: Endpoint, call: WriteCall, services: CallServices): Promise<WrittenResponse> {
  const { operation } = endpoint;
  if (operation.kind !== "write") throw new Error(`${endpoint.name} is not a write endpoint`);
  const { params } = await validateCall(endpoint, call, services.limits);
  const { deadline, identity, idempotencyKey, encode, observed } = call;
  const { marks } = observed;
  const { signal } = deadline;
  const run = async (verified: Endpoint): Promise<WriteResponse> => {
    if (marks !== undefined) marks.prepared = performance.now();
    const lookup: Lookup = ({ scope, name }) => (scope === "auth" ? identity.get(name) : params.get(name));
    const { connections, queueGroup } = verified;
    const { transaction, returnsData, returns, statuses } = operation;
    const checkRowCount = returns === "one" ? requireOne : undefined;
    const engine = services.engineOf(connections);
    const statements = statementsOf(verified, lookup, engine);
    const { onStart } = noteRendered(marks, () => loggedQuery(verified, lookup, engine));
    const write: Write = {
      connections,
      queueGroup,
      statements,
      transaction,
      returnsData,
      checkRowCount,
      signal,
      caller: callerOf(identity),
      onStart,
    };
    const rethrow = (error: unknown): never => {
      throw statuses.constraintFailure === "client-error" ? asClientError(error) : error;
    };
    const onCommitted = (): void => {
      if (marks !== undefined) marks.firstRow = performance.now();
    };
    if (idempotencyKey === undefined) {
      const written = await writeAndUpdateCache(endpoint, services, {
        run: async () => ({ ...(await engine.write(write).catch(rethrow)), ran: true }),
        onCommitted,
      });
      return { rowsAffected: written.rowsAffected, body: await encode(written) };
    }
    const store = storeOf(verified);
    const scope = `${endpoint.name}\n${identityKey(identity)}`;
    const request = { scope, key: idempotencyKey, fingerprint: fingerprintOf(call.raw) };
    return await services.idempotentResponses.once(request, async (record) => {
      const once = { ...record, store, encode };
      const { response, rowsAffected } = await writeAndUpdateCache(endpoint, services, {
        run: () => engine.writeOnce(write, once).catch(rethrow),
        onCommitted,
      });
      return { rowsAffected, body: response };
    });
  };
  const result = await deadline.spendUntilSettled(async () => {
    const verified = await untilOpen(services.prepare(endpoint), { endpoint, ...services, signal });
    const failure = services.writeFailure?.();
    if (failure !== undefined) throw new RequestFailure(failure);
    return await withLeases(verified, { caches: services.caches, signal }, () => run(verified));
  });
  observed.rows = result.rowsAffected;
  const { changed, unchanged } = operation.statuses;
  // An idempotency record holds the number of rows, so that a repeated request has the same status.
  const status = result.rowsAffected > 0 ? changed : unchanged;
  if (status === 404) throw new RequestFailure({ kind: "nothing-changed" });
  return { ...result, status };
}

function asClientError(error: unknown): unknown {
  if (!(error instanceof RequestFailure) || error.failure.kind !== "query-failed") return error;
  const { constraint, ...failure } = error.failure;
  if (constraint === undefined) return error;
  return new RequestFailure({ ...failure, kind: "constraint-failed", constraint }, { cause: error.cause });
}

/** Where the idempotency record is stored. An endpoint without a store rejects keys. */
function storeOf({ operation }: Endpoint): WriteOnce["store"] {
  const store = operation.kind === "write" ? operation.recordStore : undefined;
  if (store === undefined || store.kind === "none") throw new RequestFailure({ kind: "key-refused" });
  return store;
}

/** Identifies the contents of a request: different contents never have the same fingerprint. */
function fingerprintOf({ query, path, header, body }: RawParams): string {
  return JSON.stringify(
    [query, path, header, body].map((values) => [...values].map(([name, { text }]) => [name, text])),
  );
}

interface WriteSteps<T> {
  readonly run: () => Promise<T>;
  /** Called once the write is committed, before the cache is invalidated or refreshed. */
  readonly onCommitted: () => void;
}

/** Runs a write. A cache that the endpoint names is marked as possibly stale before it, and invalidated or refreshed after it. */
async function writeAndUpdateCache<T extends { readonly ran: boolean }>(
  { cache, operation }: Endpoint,
  { caches }: CallServices,
  { run, onCommitted }: WriteSteps<T>,
): Promise<T> {
  const named = cache?.kind === "on-write" ? cache : undefined;
  const endWrite = named && (await caches.beginWrite(named.name, named.action));
  const updateCache = async (action: WriteAction): Promise<void> => {
    endWrite?.({ changed: true });
    if (named === undefined) return;
    if (action === "refresh") await caches.refreshAfterWrite(named.name);
    else caches.invalidate(named.name);
  };
  const written = await run().catch(async (error: unknown) => {
    // Without a transaction, statements before the one that failed have been committed.
    if (operation.kind === "write" && !operation.transaction) await updateCache("invalidate");
    else endWrite?.({ changed: false });
    throw error;
  });
  if (!written.ran) {
    endWrite?.({ changed: false });
    return written;
  }
  onCommitted();
  await updateCache(named?.action ?? "invalidate");
  return written;
}
