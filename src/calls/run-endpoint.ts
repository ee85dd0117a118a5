import type { IsRedacted } from "../audit/redaction.ts";
import type { Identity } from "../auth/identity.ts";
import type { Snapshot } from "../cache/cache.ts";
import type { Caches, Lease } from "../cache/caches.ts";
import type { Limits } from "../config/project.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Engine, FileKind, Read, StopSignal } from "../engines/engine.ts";
import type { Rows } from "../engines/rows.ts";
import { type FieldError, RequestFailure } from "../failure.ts";
import type { Page } from "../params/page.ts";
import type { Params, ParamValue, RawParams } from "../params/parameter.ts";
import { isLong, type ParamRules, type Validated, validateLong, validateParams } from "../params/validate-params.ts";
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
  rowsOf,
  withSnapshot,
} from "./cached-read.ts";
import type { CallMarks } from "./call-marks.ts";
import { callRows } from "./call-rows.ts";
import type { Deadline } from "./deadline.ts";
import type { IdempotentResponses } from "./idempotency.ts";
import type { CallNotes } from "./observed-call.ts";
import { type RanQuery, ranQuery } from "./ran-query.ts";

/** One call of an endpoint, whoever makes it. */
export interface Call {
  readonly raw: RawParams;
  /** What the surface itself found wrong, in fields of its own. */
  readonly errors: readonly FieldError[];
  readonly identity: Identity;
  readonly deadline: Deadline;
  readonly observed: CallNotes;
  /** The caller wants rows that are newer than those in the cache, and may. */
  readonly refresh?: boolean;
  /** Whether the caller has the rows of this snapshot already: then none are read. */
  readonly has?: (cached: CachedFrom) => boolean;
}

/** What a call has to work with. */
export interface Callee {
  readonly engine: Engine;
  readonly spool: Spool;
  readonly limits: Limits;
  readonly idempotentResponses: IdempotentResponses;
  readonly caches: Caches;
  /** The catalog of the caches. */
  readonly cacheCatalog: string;
  /** Parameters whose values appear nowhere. */
  readonly isRedacted: IsRedacted;
  /** The endpoint as verified against its connections, which are open then. */
  ready(endpoint: Endpoint): Promise<Endpoint> | Endpoint;
}

/** What part of all rows an answer is. */
export interface PageOfRows {
  readonly limit: number;
  readonly offset: number;
  readonly total: number;
}

/** Rows on their way to whoever called. `page` is there when the answer is a page with a total. */
export interface ReadResult {
  readonly kind: "rows";
  readonly rows: Rows;
  readonly page: PageOfRows | undefined;
  /** The snapshot that they come from, where there is one. */
  readonly cached: CachedFrom | undefined;
}

/** Rows in a file; whoever has it closes it. */
export interface FileOutcome {
  readonly kind: "file";
  readonly file: SpooledFile;
  readonly page: PageOfRows | undefined;
  readonly cached: CachedFrom | undefined;
}

/** The caller has the rows already. */
export interface Unchanged {
  readonly kind: "unchanged";
  readonly cached: CachedFrom;
}

/** Validates, renders and runs. Rejects with a RequestFailure. */
export function runEndpoint(endpoint: Endpoint, call: Call, callee: Callee): Promise<ReadResult | Unchanged> {
  return runRead(endpoint, call, callee, async ({ read, pageOf, lease }) => {
    const rows = await callee.engine.read(read);
    const { marks } = call.observed;
    if (marks !== undefined) marks.firstRow = performance.now();
    return { kind: "rows", rows: callRows(rows, call, lease), page: pageOf(rows.total) };
  });
}

/** The same, into a file that the engine writes. */
export function runIntoFile(
  endpoint: Endpoint,
  call: Call,
  callee: Callee & { readonly kind: FileKind },
): Promise<FileOutcome | Unchanged> {
  const { engine, spool, kind } = callee;
  return runRead(endpoint, call, callee, async ({ read, pageOf, lease }) => {
    const { file, value } = await spool.write((path) => engine.readIntoFile(read, { kind, path }));
    const { marks } = call.observed;
    if (marks !== undefined) marks.firstRow = performance.now();
    lease?.release();
    return { kind: "file", file, page: pageOf(value.total) };
  });
}

interface PreparedRead {
  readonly read: Read;
  readonly pageOf: (total: number | undefined) => PageOfRows | undefined;
  /** Released by whoever runs it, when its rows have been read. */
  readonly lease: Lease | undefined;
}

async function runRead<T extends object>(
  endpoint: Endpoint,
  call: Call,
  callee: Callee,
  run: (running: PreparedRead) => Promise<T>,
): Promise<(T & { readonly cached: CachedFrom | undefined }) | Unchanged> {
  const validated = validateCall(endpoint, call, callee.limits);
  const { params, page } = validated instanceof Promise ? await validated : validated;
  const { deadline, identity, observed } = call;
  const { marks } = observed;
  const { signal } = deadline;
  return deadline.spend(async () => {
    const verified = await untilAborted(callee.ready(endpoint), signal);
    const calling: Calling = { params, page, identity, deadline, marks };
    const pageOf = (read: Read) => (total: number | undefined) => {
      if (read.totalOf === undefined) return undefined;
      if (total === undefined || page.limit === undefined) throw new Error("a page has a limit and a total");
      return { limit: page.limit, offset: page.offset, total };
    };
    if (!isCached(verified)) {
      if (marks !== undefined) marks.prepared = performance.now();
      const read = readOf(verified, calling, callee.engine);
      return { ...(await run({ read, pageOf: pageOf(read), lease: undefined })), cached: undefined };
    }
    const lease = await leaseFor(verified, {
      caches: callee.caches,
      signal,
      refresh: call.refresh ?? false,
      statements: () => statementsOf(verified, lookupOf(params, undefined, identity), callee.engine),
    });
    if (marks !== undefined) marks.prepared = performance.now();
    try {
      const cached = cachedFrom(
        lease,
        verified.cache.kind === "results" ? verified.cache.scheduleMs : verified.cache.refresh?.scheduleMs,
      );
      observed.cache = cached.state;
      if (call.has?.(cached) === true) {
        lease.release();
        return { kind: "unchanged", cached };
      }
      const read = cachedRead(verified, calling, { callee, lease });
      return { ...(await run({ read, pageOf: pageOf(read), lease })), cached };
    } catch (error) {
      lease.release();
      throw error;
    }
  });
}

interface Calling {
  readonly params: Params;
  readonly page: Page;
  readonly identity: Identity;
  readonly deadline: Deadline;
  readonly marks: CallMarks | undefined;
}

/** A read of one snapshot: the template over its table, or the rows themselves. */
function cachedRead(
  endpoint: CachedEndpoint,
  calling: Calling,
  { callee, lease: { snapshot } }: { readonly callee: Callee; readonly lease: Lease },
): Read {
  const { cache, queueGroup, operation } = endpoint;
  const { params, page, identity, deadline, marks } = calling;
  if (cache.kind === "table") return readOf(endpoint, calling, callee.engine, snapshot);
  const statements = [rowsOf(callee.cacheCatalog, cache.name, snapshot)];
  const noted = noteRendered(marks, () => ranQuery(endpoint, lookupOf(params, page, identity), callee.engine));
  return {
    ...noted,
    connections: [],
    queueGroup,
    statements,
    window: page.limit !== undefined || page.offset > 0 ? page : undefined,
    totalOf: operation.kind === "read" && operation.paginated ? statements : undefined,
    signal: deadline.signal,
  };
}

/** What a call says, when it may. A promise only for a long one. */
export function validateCall(endpoint: Endpoint, call: Call, limits: Limits): ValidCall | Promise<ValidCall> {
  const { parameters, rejectsUnknownParams, operation, template } = endpoint;
  const { raw } = call;
  const rules: ParamRules = {
    rejectsUnknown: rejectsUnknownParams,
    skipValidatorsBut:
      operation.kind === "write" && !operation.validateBeforeWrite ? (template?.listsRelied ?? new Set()) : undefined,
    page: operation.kind === "read" ? { ...limits, paginated: operation.paginated } : undefined,
    found: call.errors,
  };
  if (!isLong(raw)) return validOnly(validateParams(parameters, raw, rules), call);
  return validateLong(parameters, raw, rules).then((checked) => validOnly(checked, call));
}

interface ValidCall {
  readonly params: Params;
  readonly page: Page;
}

function validOnly(checked: Validated, { observed: { marks } }: Call): ValidCall {
  if (!checked.ok) throw new RequestFailure({ kind: "invalid-params", errors: checked.errors });
  if (marks !== undefined) marks.validated = performance.now();
  return checked;
}

function readOf(
  endpoint: Endpoint,
  { params, page, identity, deadline, marks }: Calling,
  engine: Engine,
  snapshot?: Snapshot,
): Read {
  const { pagesItself, operation } = endpoint;
  const paginated = operation.kind === "read" && operation.paginated;
  const lookup = (of: Page | undefined): Lookup => {
    const plain = lookupOf(params, of, identity);
    return snapshot === undefined ? plain : withSnapshot(plain, snapshot);
  };
  const statements = statementsOf(endpoint, lookup(page), engine);
  const windowed = !pagesItself && (page.limit !== undefined || page.offset > 0);
  const noted = noteRendered(marks, () => ranQuery(endpoint, lookup(page), engine));
  return {
    ...noted,
    connections: endpoint.connections,
    queueGroup: endpoint.queueGroup,
    statements,
    window: windowed ? page : undefined,
    totalOf: paginated ? (pagesItself ? statementsOf(endpoint, lookup(undefined), engine) : statements) : undefined,
    signal: deadline.signal,
  };
}

/** Notes that the statements are there; what it gives back notes when the database begins with them. */
export function noteRendered(marks: CallMarks | undefined, ran: () => RanQuery): Pick<Read, "entered"> {
  if (marks === undefined) return {};
  marks.ran = ran();
  marks.rendered = performance.now();
  return {
    entered() {
      marks.entered ??= performance.now();
    },
  };
}

export function statementsOf({ template, inline }: Endpoint, lookup: Lookup, engine: Engine): readonly Statement[] {
  if (template === undefined) throw new Error("only a prompt has no template, and it is not run");
  return render(template, lookup, { dialect: engine.dialect, inline });
}

/** `params.limit` and `params.offset` are the page as it was read; without a page they are not set. */
function lookupOf(params: Params, page: Page | undefined, identity: Identity): Lookup {
  return ({ scope, name }) => {
    if (scope === "auth") return identity.get(name);
    if (name === "limit") return page?.limit === undefined ? undefined : wholeNumber(page.limit);
    if (name === "offset") return page?.limit === undefined && !page?.offset ? undefined : wholeNumber(page.offset);
    return params.get(name);
  };
}

function wholeNumber(value: number): ParamValue {
  return { text: String(value), type: "BIGINT", value: BigInt(value) };
}

/** Stops waiting when the call ends; what is waited for goes on for others. */
export function untilAborted<T>(waited: Promise<T> | T, signal: StopSignal): Promise<T> | T {
  if (!(waited instanceof Promise)) return waited;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort);
    waited.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
