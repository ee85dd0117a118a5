import type { IncomingMessage, ServerResponse } from "node:http";
import { healthAnswer } from "../admin/health.ts";
import { anonymous, type Identity, identityKey } from "../auth/identity.ts";
import { openDeadline } from "../calls/deadline.ts";
import { type Call, runEndpoint, runIntoFile, runWrite } from "../calls/run-endpoint.ts";
import { RequestFailure } from "../failure.ts";
import { requestIdOf } from "../http/request-id.ts";
import { beginAnswer } from "./answer/begin-answer.ts";
import { answerHeaders, nextPage } from "./answer/headers.ts";
import { attachment, sendFile } from "./answer/send-file.ts";
import { sendLong } from "./answer/send-long.ts";
import { sendAtOnce, sendWhole } from "./answer/send-whole.ts";
import { encodeWritten, sendWritten } from "./answer/send-written.ts";
import type { WholeAnswer } from "./answer/whole-answer.ts";
import { type Exchange, VARY } from "./exchange.ts";
import { failureResponse } from "./failure-response.ts";
import { idempotencyKeyOf } from "./idempotency-key.ts";
import { negotiationFor } from "./negotiation/negotiate-format.ts";
import { readParams } from "./read-params/index.ts";
import { splitTarget, type Target } from "./read-params/target.ts";
import type { RestContext } from "./rest-app.ts";
import type { Match } from "./route-table.ts";

/** One REST request, from headers in to response out. What throws on the way ends in `sendFailure`. READ THIS FIRST. */
export function handleRequest(request: IncomingMessage, response: ServerResponse, context: RestContext): void {
  const asked: Asked = { request, response, requestId: requestIdOf(request.headers["x-request-id"]) };
  let name = "";
  try {
    const target = splitTarget(request);
    if (answerHealth(target, asked, context)) return;
    if (context.isDraining()) throw new RequestFailure({ kind: "draining" });
    const found = findEndpoint(target, asked, context);
    if (found === undefined) return;
    name = found.endpoint.name;
    const key = requestKey(found, request, anonymous);
    const known = key === undefined ? undefined : context.remembered.find(key);
    if (known !== undefined && sendAtOnce(known, asked)) return;
    answerCall({ ...found, target, key, known }, asked, context).catch((error: unknown) => {
      sendFailure(error, asked, name, context);
    });
  } catch (error) {
    sendFailure(error, asked, name, context);
  }
}

type Found = Extract<Match, { kind: "endpoint" }>;

/** Who asks, before it is known what for. */
type Asked = Pick<Exchange, "request" | "response" | "requestId">;

/** A call of an endpoint, with the answer that the same call got before if it would get the same again. */
interface EndpointCall extends Found {
  readonly target: Target;
  /** By which its answer may be remembered. */
  readonly key: string | undefined;
  readonly known: WholeAnswer | undefined;
}

async function answerCall(called: EndpointCall, asked: Asked, context: RestContext): Promise<void> {
  const { endpoint, pathParams, headers, target, key, known } = called;
  const { request, response, requestId } = asked;
  const { limits } = context.service;
  const deadline = openDeadline(limits.queryTimeoutMs);
  const leave = (): void => {
    if (!response.writableFinished) deadline.cancel({ kind: "cancelled" });
  };
  context.deadlines.add(deadline);
  response.once("close", leave);
  try {
    const exchange: Exchange = { request, response, requestId, deadline, limits };
    if (known !== undefined) {
      await sendWhole(known, exchange);
      return;
    }
    const raw = await readParams(request, target, { endpoint, pathParams, headers, maxBodyBytes: limits.maxBodyBytes });
    const negotiate = negotiationFor(endpoint.operation);
    const { format, codec, errors } = negotiate(raw.query.get("format")?.text, request.headers.accept);
    const call: Call = { raw, errors, identity: anonymous, deadline };
    if (endpoint.operation.kind === "write") {
      const idempotencyKey = idempotencyKeyOf(request.headers);
      const write = { ...call, idempotencyKey, encode: encodeWritten };
      await sendWritten(await runWrite(endpoint, write, context.service), exchange);
      return;
    }
    const url = request.url ?? "/";
    if (format.kind === "file") {
      const { file, page } = await runIntoFile(endpoint, call, { ...context.service, kind: format.file });
      const headers = [...answerHeaders(page, nextPage(page, url)), ...attachment(endpoint, format)];
      await sendFile({ kind: "file", headers, contentType: format.contentType, file, tag: undefined }, exchange);
      return;
    }
    const outcome = await runEndpoint(endpoint, call, context.service);
    const answer = await beginAnswer(outcome, { format, codec, url, deadline, limits, spool: context.service.spool });
    switch (answer.kind) {
      case "whole":
        if (key !== undefined) context.remembered.offer(key, answer, outcome.rows.watch);
        return await sendWhole(answer, exchange);
      case "file":
        return await sendFile(answer, exchange);
      case "long":
        return await sendLong(answer, exchange);
    }
  } finally {
    context.deadlines.delete(deadline);
    deadline.close();
    response.off("close", leave);
  }
}

/** Everything that an answer to a GET can depend on, besides the data. Undefined: it may depend on more. */
function requestKey({ endpoint, headers }: Found, request: IncomingMessage, identity: Identity): string | undefined {
  if (endpoint.route?.method !== "GET" || endpoint.operation.kind === "write") return undefined;
  let key = `${identityKey(identity)}\n${request.headers.accept ?? ""}\n${request.url}`;
  for (const name of headers) key += `\n${request.headers[name] ?? ""}`;
  return key;
}

function answerHealth(target: Target, asked: Asked, context: RestContext): boolean {
  if (!target.path.startsWith("/health")) return false;
  const answer = healthAnswer(target.path, context.service.sources, context.isDraining());
  if (answer === undefined) return false;
  const allow = ["GET", "HEAD", "OPTIONS"];
  if (!allow.includes(asked.request.method ?? "")) throw new RequestFailure({ kind: "method-not-allowed", allow });
  if (asked.request.method === "OPTIONS") sendOptions(asked, allow);
  else sendJson(asked, answer.status, { "Cache-Control": "no-store" }, answer.body);
  return true;
}

/** The endpoint that a request means, or undefined when it has been answered here (OPTIONS). */
function findEndpoint(target: Target, asked: Asked, context: RestContext): Found | undefined {
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
      throw new RequestFailure({ kind: "not-found" });
    case "other-methods": {
      const allow = [...match.methods, ...(match.methods.includes("GET") ? ["HEAD"] : []), "OPTIONS"];
      if (method !== "OPTIONS") throw new RequestFailure({ kind: "method-not-allowed", allow });
      sendOptions(asked, allow);
      return undefined;
    }
  }
}

function sendOptions({ response, requestId }: Asked, allow: readonly string[]): void {
  response.writeHead(204, { Allow: allow.join(", "), "X-Request-Id": requestId }).end();
}

/** `endpoint` is empty when the request did not get that far. */
function sendFailure(error: unknown, asked: Asked, endpoint: string, { report }: RestContext): void {
  const { request, response, requestId } = asked;
  const failure = error instanceof RequestFailure ? error.failure : ({ kind: "internal" } as const);
  if (failure.kind === "internal") report({ kind: "unexpected", requestId, error });
  if (response.headersSent || response.destroyed) {
    if (!response.writableFinished) {
      if (failure.kind !== "cancelled") report({ kind: "call-cut", requestId, endpoint, failure });
      cut(request, response);
    }
    return;
  }
  report({
    kind: "call-failed",
    requestId,
    endpoint,
    failure,
    cause: error instanceof Error ? error.cause : undefined,
  });
  const { status, headers, body } = failureResponse(failure);
  const vary = endpoint === "" ? {} : { Vary: VARY };
  sendJson(asked, status, { "Cache-Control": "no-store", ...vary, ...headers }, body);
  if (!request.complete) discardBody(request, headers);
}

/** Half an answer must not look like a whole one: its last chunk never comes. HTTP/1.0 has no chunks, only the reset. */
function cut({ httpVersion, socket }: IncomingMessage, response: ServerResponse): void {
  if (httpVersion === "1.0" && !socket.destroyed) socket.resetAndDestroy();
  response.destroy();
}

/** A body that is still coming is read and dropped for a moment, so that the client gets to see the answer. */
function discardBody(request: IncomingMessage, { Connection }: Readonly<Record<string, string>>): void {
  request.resume();
  if (Connection === "close") setTimeout(() => request.destroy(), 1_000).unref();
}

function sendJson(
  { response, requestId }: Asked,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: unknown,
): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    "Content-Type": "application/json",
    "Content-Length": bytes.length,
    "X-Request-Id": requestId,
    ...headers,
  });
  response.end(bytes);
}
