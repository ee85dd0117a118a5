import type { IsRedacted } from "../audit/redaction.ts";
import type { Identity } from "../auth/identity.ts";
import type { Snapshot } from "../cache/cache.ts";
import type { Caches, Lease } from "../cache/caches.ts";
import type { Limits } from "../config/project.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Engine, FileKind, Read } from "../engines/engine.ts";
import type { Rows } from "../engines/rows.ts";
import { type FieldError, RequestFailure } from "../failure.ts";
import type { Page } from "../params/page.ts";
import type { Params, RawParams } from "../params/parameter.ts";
import {
  isLong,
  type ParamRules,
  type ValidationResult,
  validateLong,
  validateParams,
} from "../params/validate-params.ts";
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
import { lookupOf } from "./call-lookup.ts";
import { type CallMarks, noteRendered } from "./call-marks.ts";
import { callRows } from "./call-rows.ts";
import type { ConnectionStatus } from "./connection-status.ts";
import type { Deadline } from "./deadline.ts";
import type { IdempotentResponses } from "./idempotency.ts";
import { loggedQuery } from "./logged-query.ts";
import type { CallNotes } from "./observed-call.ts";
import { acceptFile, onlyRow } from "./one-row.ts";
import { pagingOf, windowOf } from "./paging.ts";

/** One call to an endpoint, from any surface. */
export interface Call {
  readonly raw: RawParams;
  /** Errors that the surface itself found. */
  readonly errors: readonly FieldError[];
  readonly identity: Identity;
  readonly deadline: Deadline;
  readonly observed: CallNotes;
  /** The client requests a cache refresh, and is allowed to. */
  readonly refresh?: boolean;
  /** Whether the client already has the rows of this snapshot. If so, none are read. */
  readonly clientHas?: (cached: CachedFrom) => boolean;
}

/** What running a call needs from the service. */
export interface CallServices {
  readonly engine: Engine;
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
  return runRead(endpoint, call, services, async ({ read, pageOf, lease, cached }) => {
    const found = await services.engine.read(read);
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
  const { engine, spool, kind } = services;
  return runRead(endpoint, call, services, async ({ read, pageOf, lease, cached }) => {
    const write = async (path: string) => acceptFile(endpoint, await engine.readIntoFile(read, { kind, path }));
    const { file, value } = await spool.write(write);
    const { marks } = call.observed;
    if (marks !== undefined) marks.firstRow = performance.now();
    lease?.release();
    return { kind: "file", file, page: pageOf(value.total), cached };
  });
}

interface PreparedRead {
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
    const read = readOf(verified, input, services.engine);
    return run({ read, pageOf: pageOf(read), lease: undefined, cached: undefined });
  }

  async function readSnapshots(verified: Endpoint): Promise<T | UnchangedResult> {
    const lease = await leaseFor(verified, {
      caches: services.caches,
      signal,
      refresh: call.refresh ?? false,
      statements: () => statementsOf(verified, lookupOf(params, undefined, identity), services.engine),
    });
    if (marks !== undefined) marks.prepared = performance.now();
    try {
      if (!isCached(verified)) {
        const read = readOf(verified, input, services.engine);
        return await run({ read, pageOf: pageOf(read), lease, cached: undefined });
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
      return await run({ read, pageOf: pageOf(read), lease, cached });
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

/** Validates the parameters of a call. Returns a promise only if they are long. */
export function validateCall(endpoint: Endpoint, call: Call, limits: Limits): ValidCall | Promise<ValidCall> {
  const { parameters, rejectsUnknownParams, operation, template } = endpoint;
  const { raw } = call;
  const rules: ParamRules = {
    rejectsUnknown: rejectsUnknownParams,
    enforcedEnums:
      operation.kind === "write" && !operation.validateBeforeWrite ? (template?.enforcedEnums ?? new Set()) : undefined,
    page: operation.kind === "read" ? { ...limits, paginated: operation.paginated } : undefined,
    earlierErrors: call.errors,
  };
  if (!isLong(raw)) return requireValid(validateParams(parameters, raw, rules), call);
  return validateLong(parameters, raw, rules).then((checked) => requireValid(checked, call));
}

interface ValidCall {
  readonly params: Params;
  readonly page: Page;
}

function requireValid(checked: ValidationResult, { observed: { marks } }: Call): ValidCall {
  if (!checked.ok) throw new RequestFailure({ kind: "invalid-params", errors: checked.errors });
  if (marks !== undefined) marks.validated = performance.now();
  return checked;
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
  };
}

export function statementsOf({ template }: Endpoint, lookup: Lookup, engine: Engine): readonly Statement[] {
  if (template === undefined) throw new Error("a prompt has no template and cannot be run");
  return render(template, lookup, { dialect: engine.dialect });
}
