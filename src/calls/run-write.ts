import { identityKey } from "../auth/identity.ts";
import type { WriteStatuses } from "../config/project.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Write } from "../engines/engine.ts";
import type { WriteResult } from "../engines/rows.ts";
import type { WriteOnce } from "../engines/write-once.ts";
import { RequestFailure } from "../failure.ts";
import type { RawParams } from "../params/parameter.ts";
import type { Lookup } from "../sql/render.ts";
import { whileLeased } from "./cached-read.ts";
import type { WriteResponse } from "./idempotency.ts";
import { requireOne } from "./one-row.ts";
import { ranQuery } from "./ran-query.ts";
import { type Call, type Callee, noteRendered, statementsOf, validateCall } from "./run-endpoint.ts";
import { untilAborted } from "./until-aborted.ts";

/** What the client gets. */
export interface WrittenResponse extends WriteResponse {
  readonly status: WriteStatuses["changed"];
}

/** A call of a write endpoint. */
export interface WriteCall extends Call {
  /** With a key, the write runs only once. */
  readonly idempotencyKey: string | undefined;
  /** `earlier` is the response so far, if statements that an earlier request committed have returned rows. */
  readonly encode: (written: WriteResult, earlier?: string) => Promise<string>;
}

/**
 * Validates, renders, runs and commits. When it resolves, the write is durable. When it rejects with a RequestFailure,
 * nothing was changed, except with `transaction: false`.
 */
export async function runWrite(endpoint: Endpoint, call: WriteCall, callee: Callee): Promise<WrittenResponse> {
  const { operation } = endpoint;
  if (operation.kind !== "write") throw new Error(`${endpoint.name} is no write`);
  const { params } = await validateCall(endpoint, call, callee.limits);
  const { deadline, identity, idempotencyKey, encode, observed } = call;
  const { marks } = observed;
  const { signal } = deadline;
  const run = async (verified: Endpoint): Promise<WriteResponse> => {
    if (marks !== undefined) marks.prepared = performance.now();
    const lookup: Lookup = ({ scope, name }) => (scope === "auth" ? identity.get(name) : params.get(name));
    const { connections, queueGroup } = verified;
    const { transaction, returnsData, returns, statuses } = operation;
    const acceptRows = returns === "one" ? requireOne : undefined;
    const statements = statementsOf(verified, lookup, callee.engine);
    const { onStart } = noteRendered(marks, () => ranQuery(verified, lookup, callee.engine));
    const write: Write = { connections, queueGroup, statements, transaction, returnsData, acceptRows, signal, onStart };
    const failed = (error: unknown): never => {
      // Statements before the one that failed have been committed.
      if (!transaction) invalidateAfter(endpoint, callee);
      throw statuses.constraintFailure === "client-error" ? asClientError(error) : error;
    };
    const done = async (): Promise<void> => {
      if (marks !== undefined) marks.firstRow = performance.now();
      await renewAfter(endpoint, callee);
    };
    if (idempotencyKey === undefined) {
      const written = await callee.engine.write(write).catch(failed);
      await done();
      return { rowsAffected: written.rowsAffected, body: await encode(written) };
    }
    const store = storeOf(verified);
    const scope = `${endpoint.name}\n${identityKey(identity)}`;
    const request = { scope, key: idempotencyKey, fingerprint: fingerprintOf(call.raw) };
    return await callee.idempotentResponses.once(request, async (record) => {
      const { response, rowsAffected, ran } = await callee.engine
        .writeOnce(write, { ...record, store, encode })
        .catch(failed);
      if (ran) await done();
      return { rowsAffected, body: response };
    });
  };
  const result = await deadline.spendUntilSettled(async () => {
    const verified = await untilAborted(callee.ready(endpoint), signal);
    return await whileLeased(verified, { caches: callee.caches, signal }, () => run(verified));
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
  const { constraint, ...message } = error.failure;
  if (constraint === undefined) return error;
  return new RequestFailure({ ...message, kind: "constraint-failed", constraint }, { cause: error.cause });
}

/** Where the idempotency record is stored. An endpoint without a store rejects keys. */
function storeOf({ operation }: Endpoint): WriteOnce["store"] {
  const store = operation.kind === "write" ? operation.recordStore : undefined;
  if (store === undefined || store.kind === "none") throw new RequestFailure({ kind: "key-refused" });
  return store;
}

/** The contents of a request. Two different requests never have the same. */
function fingerprintOf({ query, path, header, body }: RawParams): string {
  return JSON.stringify(
    [query, path, header, body].map((values) => [...values].map(([name, { text }]) => [name, text])),
  );
}

/** Invalidates the cache that the endpoint names in its `cache` block. */
function invalidateAfter({ cache }: Endpoint, { caches }: Callee): void {
  if (cache?.kind === "on-write") caches.invalidate(cache.name);
}

/** The same, but waits for the refresh if the endpoint requests one. */
async function renewAfter(endpoint: Endpoint, callee: Callee): Promise<void> {
  const { cache } = endpoint;
  if (cache?.kind === "on-write" && cache.action === "refresh") await callee.caches.refreshAfterWrite(cache.name);
  else invalidateAfter(endpoint, callee);
}
