import type { IncomingMessage, ServerResponse } from "node:http";
import { type Identity, identityKey } from "../auth/identity.ts";
import { openMarks } from "../calls/call-marks.ts";
import { openDeadline } from "../calls/deadline.ts";
import { encodeWritten } from "../calls/encode-written.ts";
import type { Call } from "../calls/run-endpoint.ts";
import { runWrite } from "../calls/run-write.ts";
import { withheldFailure } from "../calls/withheld-failure.ts";
import { RequestFailure } from "../failure.ts";
import { requestIdOf } from "../http/request-id.ts";
import type { RawParams } from "../params/parameter.ts";
import { checkAccess } from "./check-access.ts";
import type { EndpointExchange } from "./exchange.ts";
import { handleToken } from "./exchange-token.ts";
import { handleAdmin } from "./handle-admin.ts";
import { handleDocs, redirectToDocs } from "./handle-docs.ts";
import { asksForNewRows, handleRead } from "./handle-read.ts";
import { enforceHttps, setCorsHeaders } from "./https-and-cors.ts";
import { idempotencyKeyOf } from "./idempotency-key.ts";
import { negotiationFor } from "./negotiation/negotiate-format.ts";
import {
  countWritten,
  endAtOnce,
  followCall,
  observeCall,
  recallKnown,
  type WatchedCall,
  watchRequest,
} from "./observe-call.ts";
import { readParams } from "./read-params/index.ts";
import { headerValue } from "./read-params/read-headers.ts";
import { splitTarget, type Target } from "./read-params/target.ts";
import { sendAtOnce, sendWhole } from "./response/send-whole.ts";
import { sendWritten } from "./response/send-written.ts";
import type { WholeResponse } from "./response/whole-response.ts";
import type { RestContext } from "./rest-app.ts";
import type { Match } from "./route-table.ts";
import { type HttpExchange, sendFailure, sendOptions } from "./send-failure.ts";
import { setServerTiming } from "./server-timing.ts";

/** One REST request, from headers in to response out. What throws on the way ends in `sendFailure`. READ THIS FIRST. */
export function handleRequest(request: IncomingMessage, response: ServerResponse, context: RestContext): void {
  const asked: HttpExchange = { request, response, requestId: requestIdOf(request.headers["x-request-id"]) };
  let found: Found | undefined;
  const { answered } = context.watch;
  const became = answered && watchRequest(asked, answered);
  let observed: WatchedCall | undefined;
  const fail = (error: unknown): void => {
    followCall(observed, asked, context.watch);
    sendFailure(error, { ...asked, endpoint: found?.endpoint.name ?? "", caching: found?.caching }, context);
  };
  try {
    enforceHttps(asked, context);
    setCorsHeaders(asked, context);
    const target = splitTarget(request);
    if (handleAdmin(target, asked, context, fail)) return;
    if (context.isDraining()) throw new RequestFailure({ kind: "draining" });
    if (handleDocs(target, asked, context, fail) || handleToken(target, asked, context, fail)) return;
    const match = findEndpoint(target, asked, context);
    if (match === undefined) return;
    found = match;
    observed = observeCall(match.endpoint.name, asked, context.watch);
    became?.(observed);
    const admitted = checkAccess(match.endpoint, asked, context.gate);
    if (admitted instanceof Promise) {
      // While that is found out the client may leave.
      followCall(observed, asked, context.watch);
      admitted.then((identity) => handleAdmitted({ ...match, target, identity, observed }, asked, context)).catch(fail);
      return;
    }
    handleAdmitted({ ...match, target, identity: admitted, observed }, asked, context)?.catch(fail);
  } catch (error) {
    fail(error);
  }
}

type Found = Extract<Match, { kind: "endpoint" }>;

/** A call of an endpoint by somebody who may. */
interface AdmittedCall extends Found {
  readonly target: Target;
  readonly identity: Identity;
  readonly observed: WatchedCall | undefined;
}

/** Undefined when it has been answered at once: the same call got the same answer before, and would get it again. */
function handleAdmitted(called: AdmittedCall, asked: HttpExchange, context: RestContext): Promise<void> | undefined {
  const { identity, observed } = called;
  // While its password was checked the client may have left: nobody would hear that again.
  if (asked.response.destroyed) throw new RequestFailure({ kind: "cancelled" });
  if (observed !== undefined) observed.identity = identity;
  const key = requestKey(called, asked.request, identity);
  const known =
    key !== undefined && !asksForNewRows(called.endpoint, asked.request.headers["cache-control"])
      ? context.remembered.find(key)
      : undefined;
  if (known !== undefined && observed !== undefined) recallKnown(known, observed);
  // What a call was about is read for the audit even when its answer is known.
  if (known !== undefined && !context.watch.needsParameters && sendAtOnce(known, asked)) {
    endAtOnce(observed, asked, context.watch);
    return undefined;
  }
  followCall(observed, asked, context.watch);
  return handleCall({ ...called, key, known }, asked, context);
}

/** A call of an endpoint, with the answer that the same call got before if it would get the same again. */
interface EndpointCall extends AdmittedCall {
  /** By which its answer may be remembered. */
  readonly key: string | undefined;
  readonly known: WholeResponse | undefined;
}

async function handleCall(called: EndpointCall, asked: HttpExchange, context: RestContext): Promise<void> {
  const { endpoint, pathParams, headers, caching, target, key, known, identity, observed } = called;
  const { request, response, requestId } = asked;
  const { limits } = context.service;
  const deadline = openDeadline(limits.queryTimeoutMs);
  const leave = (): void => {
    if (!response.writableFinished) deadline.cancel({ kind: "cancelled" });
  };
  context.deadlines.add(deadline);
  response.once("close", leave);
  let raw: RawParams | undefined;
  try {
    const exchange: EndpointExchange = { request, response, requestId, deadline, limits, caching };
    if (known !== undefined && !context.watch.needsParameters) return await sendWhole(known, exchange);
    raw = await readParams(request, target, { endpoint, pathParams, headers, maxBodyBytes: limits.maxBodyBytes });
    if (observed !== undefined) observed.raw = raw;
    if (known !== undefined) return await sendWhole(known, exchange);
    if (observed !== undefined) observed.marks = openMarks(deadline.spentMs);
    const negotiate = negotiationFor(endpoint.operation);
    const { format, codec, errors } = negotiate(raw.query.get("format")?.text, request.headers.accept);
    if (observed !== undefined) observed.format = format.name;
    const call: Call = { raw, errors, identity, deadline, marks: observed?.marks };
    if (endpoint.operation.kind === "write") {
      const idempotencyKey = idempotencyKeyOf(request.headers);
      const body = await runWrite(endpoint, { ...call, idempotencyKey, encode: encodeWritten }, context.service);
      if (observed !== undefined) countWritten(body, observed);
      setServerTiming(observed, exchange, context);
      return await sendWritten(body, exchange);
    }
    await handleRead({ endpoint, call, format, codec, key, observed }, exchange, context);
  } catch (error) {
    throw withheldFailure(error, raw, context.service.isRedacted);
  } finally {
    context.deadlines.delete(deadline);
    deadline.close();
    response.off("close", leave);
  }
}

/** Everything that an answer to a GET can depend on, besides the data. Undefined: it may depend on more. */
function requestKey({ endpoint, headers }: Found, request: IncomingMessage, identity: Identity): string | undefined {
  if (endpoint.route?.method !== "GET" || endpoint.operation.kind === "write") return undefined;
  let key = `${identityKey(identity)}${keyPart(request.headers.accept)}\n${request.url}`;
  for (const name of headers) key += keyPart(headerValue(request.headers, name));
  return key;
}

/** A header in a key: absent and empty differ. Values hold no line break. */
function keyPart(value: string | undefined): string {
  return value === undefined ? "\n" : `\n=${value}`;
}

/** The endpoint that a request means, or undefined when it has been answered here (OPTIONS). */
function findEndpoint(target: Target, asked: HttpExchange, context: RestContext): Found | undefined {
  const method = asked.request.method ?? "GET";
  const match = context.service.routes.match(method === "HEAD" ? "GET" : method, target.path);
  switch (match.kind) {
    case "endpoint": {
      // Whoever asks for the head of an answer does not mean to change anything.
      if (method === "HEAD" && match.endpoint.operation.kind === "write") {
        throw new RequestFailure({ kind: "method-not-allowed", allow: ["GET", "OPTIONS"] });
      }
      return match;
    }
    case "none":
      if (redirectToDocs(target, asked, context)) return undefined;
      throw new RequestFailure({ kind: "not-found" });
    case "other-methods": {
      const allow = [...match.methods, ...(match.methods.includes("GET") ? ["HEAD"] : []), "OPTIONS"];
      if (method !== "OPTIONS") throw new RequestFailure({ kind: "method-not-allowed", allow });
      sendOptions(asked, allow, context);
      return undefined;
    }
  }
}
