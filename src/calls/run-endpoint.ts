import { type Identity, identityKey } from "../auth/identity.ts";
import type { Limits } from "../config/project.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Engine, FileKind, Read, Rows, StopSignal, Written } from "../engines/engine.ts";
import { type FieldError, RequestFailure } from "../failure.ts";
import type { Page } from "../params/page.ts";
import type { Params, ParamValue, RawParams } from "../params/parameter.ts";
import { validateParams } from "../params/validate-params.ts";
import type { Spool } from "../spool/spool.ts";
import type { SpooledFile } from "../spool/spooled-file.ts";
import { type Lookup, render } from "../sql/render.ts";
import type { Statement } from "../sql/statement.ts";
import type { Deadline } from "./deadline.ts";
import type { IdempotentAnswers, RunRecorded } from "./idempotency.ts";

/** One call of an endpoint, whoever makes it. */
export interface Call {
  readonly raw: RawParams;
  /** What the surface itself found wrong, in fields of its own. */
  readonly errors: readonly FieldError[];
  readonly identity: Identity;
  readonly deadline: Deadline;
}

/** What a call has to work with. */
export interface Callee {
  readonly engine: Engine;
  readonly spool: Spool;
  readonly limits: Limits;
  readonly idempotentAnswers: IdempotentAnswers;
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
export interface Outcome {
  readonly rows: Rows;
  readonly page: PageOfRows | undefined;
}

/** Rows in a file; whoever has it closes it. */
export interface FileOutcome {
  readonly file: SpooledFile;
  readonly page: PageOfRows | undefined;
}

/** Validates, renders and runs. Rejects with a RequestFailure. */
export function runEndpoint(endpoint: Endpoint, call: Call, callee: Callee): Promise<Outcome> {
  return runRead(endpoint, call, callee, async (read, pageOf) => {
    const rows = await callee.engine.read(read);
    return { rows, page: pageOf(rows.total) };
  });
}

/** The same, into a file that the engine writes. */
export function runIntoFile(
  endpoint: Endpoint,
  call: Call,
  callee: Callee & { readonly kind: FileKind },
): Promise<FileOutcome> {
  const { engine, spool, kind } = callee;
  return runRead(endpoint, call, callee, async (read, pageOf) => {
    const { file, value } = await spool.write((path) => engine.readIntoFile(read, { kind, path }));
    return { file, page: pageOf(value.total) };
  });
}

/** A change that somebody asks for, and how its outcome is told. */
export interface WriteCall extends Call {
  /** What the client calls its request, so that it is not run twice. */
  readonly idempotencyKey: string | undefined;
  readonly encode: (written: Written) => Promise<string>;
}

/**
 * Validates, renders, runs and commits; the answer tells of what is durable. Rejects with a RequestFailure: then nothing is
 * left behind, or what `transaction: false` allows.
 */
export async function runWrite(endpoint: Endpoint, call: WriteCall, callee: Callee): Promise<string> {
  const { operation } = endpoint;
  if (operation.kind !== "write") throw new Error(`${endpoint.name} is no write`);
  const { params } = validateCall(endpoint, call, callee.limits);
  const { deadline, identity, idempotencyKey, encode } = call;
  const { signal } = deadline;
  return deadline.spend(async () => {
    const verified = await untilAborted(callee.ready(endpoint), signal);
    const lookup: Lookup = ({ scope, name }) => (scope === "auth" ? identity.get(name) : params.get(name));
    const { connections } = verified;
    const { transaction, returnsData } = operation;
    const statements = statementsOf(verified, lookup, callee.engine);
    const run: RunRecorded = (record) =>
      callee.engine.write({ connections, statements, transaction, returnsData, signal, record });
    if (idempotencyKey === undefined) return await encode(await run());
    const scope = `${endpoint.name}\n${identityKey(identity)}`;
    const request = { scope, key: idempotencyKey, fingerprint: fingerprintOf(call.raw) };
    return await callee.idempotentAnswers.once(request, { run, encode, signal });
  });
}

/** What a client said. Texts only: no two requests that differ share it. */
function fingerprintOf({ query, path, header, body }: RawParams): string {
  return JSON.stringify(
    [query, path, header, body].map((values) => [...values].map(([name, { text }]) => [name, text])),
  );
}

type Run<T> = (read: Read, pageOf: (total: number | undefined) => PageOfRows | undefined) => Promise<T>;

async function runRead<T>(endpoint: Endpoint, call: Call, callee: Callee, run: Run<T>): Promise<T> {
  const { params, page } = validateCall(endpoint, call, callee.limits);
  const { deadline } = call;
  return deadline.spend(async () => {
    const verified = await untilAborted(callee.ready(endpoint), deadline.signal);
    const read = readOf(verified, { params, page, identity: call.identity, deadline }, callee.engine);
    return run(read, (total) => {
      if (read.totalOf === undefined) return undefined;
      if (total === undefined || page.limit === undefined) throw new Error("a page has a limit and a total");
      return { limit: page.limit, offset: page.offset, total };
    });
  });
}

function validateCall(endpoint: Endpoint, { raw, errors }: Call, limits: Limits): { params: Params; page: Page } {
  const { parameters, refusesUnknownParams, operation, notActive, template } = endpoint;
  if (notActive !== undefined) throw new RequestFailure({ kind: "not-active", feature: notActive });
  const checked = validateParams(parameters, raw, {
    refusesUnknown: refusesUnknownParams,
    skipValidatorsBut:
      operation.kind === "write" && !operation.validateBeforeWrite ? (template?.listsRelied ?? new Set()) : undefined,
    page: operation.kind === "read" ? { ...limits, paginated: operation.paginated } : undefined,
    found: errors,
  });
  if (!checked.ok) throw new RequestFailure({ kind: "invalid-params", errors: checked.errors });
  return checked;
}

function readOf(
  endpoint: Endpoint,
  { params, page, identity, deadline }: { params: Params; page: Page; identity: Identity; deadline: Deadline },
  engine: Engine,
): Read {
  const { pagesItself, operation } = endpoint;
  const paginated = operation.kind === "read" && operation.paginated;
  const statements = statementsOf(endpoint, lookupOf(params, page, identity), engine);
  const windowed = !pagesItself && (page.limit !== undefined || page.offset > 0);
  return {
    connections: endpoint.connections,
    statements,
    window: windowed ? page : undefined,
    totalOf: paginated
      ? pagesItself
        ? statementsOf(endpoint, lookupOf(params, undefined, identity), engine)
        : statements
      : undefined,
    signal: deadline.signal,
  };
}

function statementsOf({ template, inline }: Endpoint, lookup: Lookup, engine: Engine): readonly Statement[] {
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
function untilAborted<T>(waited: Promise<T> | T, signal: StopSignal): Promise<T> | T {
  if (!(waited instanceof Promise)) return waited;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort);
    waited.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
