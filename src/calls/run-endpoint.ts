import type { IsRedacted } from "../audit/redaction.ts";
import type { Identity } from "../auth/identity.ts";
import type { Snapshot } from "../cache/cache.ts";
import type { Caches, Lease } from "../cache/caches.ts";
import type { Limits } from "../config/project.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { FileKind, FileRows, NewFile } from "../engines/embedded-engine.ts";
import type { Engine, Read } from "../engines/engine.ts";
import type { Engines } from "../engines/engines.ts";
import type { Rows } from "../engines/rows.ts";
import type { Failure } from "../failure.ts";
import type { Page } from "../params/page.ts";
import type { Params } from "../params/parameter.ts";
import type { Spool } from "../spool/spool.ts";
import type { SpooledFile } from "../spool/spooled-file.ts";
import { type Lookup, render } from "../sql/render.ts";
import type { Statement } from "../sql/statement.ts";
import {
  type CachedEndpoint,
  type CachedFrom,
  cachedFrom,
  isCached,
  leaseFor,
  readsSnapshots,
  readWhileOpening,
  selectAll,
  withSnapshot,
} from "./cached-read.ts";
import type { Call } from "./call.ts";
import { lookupOf } from "./call-lookup.ts";
import { type CallMarks, noteRendered } from "./call-marks.ts";
import { callRows } from "./call-rows.ts";
import { callerOf } from "./caller.ts";
import type { ConnectionStatus } from "./connection-status.ts";
import type { Deadline } from "./deadline.ts";
import type { IdempotentResponses } from "./idempotency.ts";
import { loggedQuery } from "./logged-query.ts";
import { acceptFile, onlyRow } from "./one-row.ts";
import { pagingOf, windowOf } from "./paging.ts";
import { validateCall } from "./validate-call.ts";

/** What running a call needs from the service. */
export interface CallServices extends Engines {
  readonly spool: Spool;
  readonly limits: Limits;
  readonly idempotentResponses: IdempotentResponses;
  readonly connectionStatus: Pick<ConnectionStatus, "openingFailure">;
  readonly caches: Caches;
  /** The catalog of the caches. */
  readonly cacheCatalog: string;
  /** Whether a table returns its rows in insertion order without ORDER BY. */
  readonly keepsRowOrder: boolean;
  /** Parameters whose values must not appear in logs or errors. */
  readonly isRedacted: IsRedacted;
  /** Why no write can run at the moment. Undefined, or without it: writes can run. */
  readonly writeFailure?: (() => Failure | undefined) | undefined;
  /** Opens the connections of an endpoint, and returns the endpoint as verified against them. */
  prepare(endpoint: Endpoint): Promise<Endpoint> | Endpoint;
  /** Verifies the endpoint of a cache table while its connections are down, as far as possible. Rejects with a RequestFailure. */
  verifyWithoutConnections(endpoint: Endpoint): Promise<Endpoint>;
}

export interface PageOfRows {
  readonly limit: number;
  readonly offset: number;
  readonly total: number;
}

/** The rows of a read. `page` is set for a page with a total. */
export interface ReadResult {
  readonly kind: "rows";
  readonly rows: Rows;
  readonly page: PageOfRows | undefined;
  /** The snapshot that the rows come from, if any. */
  readonly cached: CachedFrom | undefined;
}

/** Rows in a file. The caller closes it. */
export interface FileResult {
  readonly kind: "file";
  readonly file: SpooledFile;
  readonly page: PageOfRows | undefined;
  readonly cached: CachedFrom | undefined;
}

/** The client already has the rows. */
export interface UnchangedResult {
  readonly kind: "unchanged";
  readonly cached: CachedFrom;
}

/** Validates, renders and runs a read. For writes, see `runWrite`. Rejects with a RequestFailure. */
export function runEndpoint(
  endpoint: Endpoint,
  call: Call,
  services: CallServices,
): Promise<ReadResult | UnchangedResult> {
  return runRead(endpoint, call, services, async ({ engine, read, pageOf, lease, cached }) => {
    const found = await engine.read(read);
    const rows = endpoint.operation.returns === "one" ? await onlyRow(found) : found;
    const { marks } = call.observed;
    if (marks !== undefined) marks.firstRow = performance.now();
    return { kind: "rows", rows: callRows(rows, call, lease), page: pageOf(rows.total), cached };
  });
}

/** The same, into a file that the engine writes. */
export function runIntoFile(
  endpoint: Endpoint,
  call: Call,
  services: CallServices & { readonly kind: FileKind },
): Promise<FileResult | UnchangedResult> {
  const { engine: embedded, spool, kind } = services;
  return runRead(endpoint, call, services, async ({ engine, read, pageOf, lease, cached }) => {
    const writeFile = async (file: NewFile): Promise<FileRows> =>
      engine === embedded
        ? await embedded.readIntoFile(read, file)
        : await embedded.rowsIntoFile(await engine.read(read), file, read.signal);
    const write = async (path: string) => acceptFile(endpoint, await writeFile({ kind, path }));
    const { file, value } = await spool.write(write);
    const { marks } = call.observed;
    if (marks !== undefined) marks.firstRow = performance.now();
    lease?.release();
    return { kind: "file", file, page: pageOf(value.total), cached };
  });
}

interface PreparedRead {
  readonly engine: Engine;
  readonly read: Read;
  readonly pageOf: (total: number | undefined) => PageOfRows | undefined;
  /** `run` releases it when the rows have been read. */
  readonly lease: Lease | undefined;
  readonly cached: CachedFrom | undefined;
}

async function runRead<T>(
  endpoint: Endpoint,
  call: Call,
  services: CallServices,
  run: (prepared: PreparedRead) => Promise<T>,
): Promise<T | UnchangedResult> {
  const validated = validateCall(endpoint, call, services.limits);
  const { params, page } = validated instanceof Promise ? await validated : validated;
  const { deadline, identity, observed } = call;
  const { marks } = observed;
  const { signal } = deadline;
  const input: ReadInput = { params, page, identity, deadline, marks };
  const pageOf = (read: Read) => (total: number | undefined) => {
    if (read.totalOf === undefined) return undefined;
    if (total === undefined || page.limit === undefined) throw new Error("a page lacks its limit or total");
    return { limit: page.limit, offset: page.offset, total };
  };

  function readAs(verified: Endpoint): Promise<T | UnchangedResult> {
    if (readsSnapshots(verified)) return readSnapshots(verified);
    if (marks !== undefined) marks.prepared = performance.now();
    const engine = services.engineOf(verified.connections);
    const read = readOf(verified, input, engine);
    return run({ engine, read, pageOf: pageOf(read), lease: undefined, cached: undefined });
  }

  async function readSnapshots(verified: Endpoint): Promise<T | UnchangedResult> {
    const engine = services.engineOf(verified.connections);
    const lease = await leaseFor(verified, {
      caches: services.caches,
      signal,
      refresh: call.refresh ?? false,
      statements: () => statementsOf(verified, lookupOf(params, undefined, identity), engine),
    });
    if (marks !== undefined) marks.prepared = performance.now();
    try {
      if (!isCached(verified)) {
        const read = readOf(verified, input, engine);
        return await run({ engine, read, pageOf: pageOf(read), lease, cached: undefined });
      }
      const cached = cachedFrom(
        lease,
        verified.cache.kind === "results" ? verified.cache.scheduleMs : verified.cache.refresh?.scheduleMs,
      );
      observed.cache = cached.state;
      if (call.clientHas?.(cached) === true) {
        lease.release();
        return { kind: "unchanged", cached };
      }
      const read = cachedRead(verified, input, { services, lease });
      return await run({ engine: services.engine, read, pageOf: pageOf(read), lease, cached });
    } catch (error) {
      lease.release();
      throw error;
    }
  }

  return await deadline.spend(() => {
    const prepared = services.prepare(endpoint);
    return prepared instanceof Promise
      ? readWhileOpening(endpoint, prepared, { services, readAs, signal })
      : readAs(prepared);
  });
}

interface ReadInput {
  readonly params: Params;
  readonly page: Page;
  readonly identity: Identity;
  readonly deadline: Deadline;
  readonly marks: CallMarks | undefined;
}

/** Describes the read of one snapshot: the template over a cache table, or all rows of a result. */
function cachedRead(
  endpoint: CachedEndpoint,
  input: ReadInput,
  { services, lease: { snapshot } }: { readonly services: CallServices; readonly lease: Lease },
): Read {
  const { cache, queueGroup, operation } = endpoint;
  const { params, page, identity, deadline, marks } = input;
  if (cache.kind === "table") return readOf(endpoint, input, services.engine, snapshot);
  const statements = [selectAll(services, cache.name, snapshot)];
  const noted = noteRendered(marks, () => loggedQuery(endpoint, lookupOf(params, page, identity), services.engine));
  return {
    ...noted,
    connections: [],
    queueGroup,
    statements,
    window: windowOf(operation, page),
    totalOf: operation.kind === "read" && operation.paginated ? statements : undefined,
    signal: deadline.signal,
  };
}

function readOf(
  endpoint: Endpoint,
  { params, page, identity, deadline, marks }: ReadInput,
  engine: Engine,
  snapshot?: Snapshot,
): Read {
  const { operation } = endpoint;
  const paginated = operation.kind === "read" && operation.paginated;
  const lookup = (forPage: Page | undefined): Lookup => {
    const plain = lookupOf(params, forPage, identity);
    return snapshot === undefined ? plain : withSnapshot(plain, snapshot);
  };
  const { templatePage, window, separateTotal } = pagingOf(endpoint, page);
  const statements = statementsOf(endpoint, lookup(templatePage), engine);
  const noted = noteRendered(marks, () => loggedQuery(endpoint, lookup(templatePage), engine));
  return {
    ...noted,
    connections: endpoint.connections,
    queueGroup: endpoint.queueGroup,
    statements,
    window,
    totalOf: paginated
      ? separateTotal
        ? statementsOf(endpoint, lookup(separateTotal.page), engine)
        : statements
      : undefined,
    signal: deadline.signal,
    caller: snapshot === undefined ? callerOf(identity) : undefined,
  };
}

export function statementsOf({ template }: Endpoint, lookup: Lookup, engine: Engine): readonly Statement[] {
  if (template === undefined) throw new Error("a prompt has no template and cannot be run");
  return render(template, lookup, { dialect: engine.dialect });
}
