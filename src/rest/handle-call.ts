import { type Identity, identityKey } from "../auth/identity.ts";
import type { Call } from "../calls/call.ts";
import { openMarks } from "../calls/call-marks.ts";
import type { Deadline } from "../calls/deadline.ts";
import { encodeWritten } from "../calls/encode-written.ts";
import { type ObservedCall, observeCall } from "../calls/observed-call.ts";
import { runCall } from "../calls/run-call.ts";
import { runWrite } from "../calls/run-write.ts";
import type { WriteResult } from "../engines/rows.ts";
import { clientOf } from "../http/forwarded.ts";
import { authenticate, setRateLimitHeaders } from "./check-access.ts";
import type { RestContext } from "./context.ts";
import type { EndpointExchange, HttpExchange } from "./exchange.ts";
import { handleRead, requestsRefresh } from "./handle-read.ts";
import { idempotencyKeyOf } from "./idempotency-key.ts";
import { negotiatorFor } from "./negotiation/negotiate-format.ts";
import { whenClosed } from "./observe-request.ts";
import { readParams } from "./read-params/index.ts";
import { headerValue } from "./read-params/read-headers.ts";
import type { Target } from "./read-params/target.ts";
import { sendResponse, sendSynchronously } from "./response/send-response.ts";
import { type WholeResponse, writtenResponse } from "./response/whole-response.ts";
import type { EndpointMatch } from "./route-table.ts";
import { progressOf, sendFailure } from "./send-failure.ts";
import { setServerTiming } from "./server-timing.ts";

/** A request for an endpoint. */
export interface EndpointRequest {
  readonly match: EndpointMatch;
  readonly target: Target;
  readonly exchange: HttpExchange;
  readonly setObservedCall: ((call: ObservedCall) => void) | undefined;
}

/** Translates between HTTP and a call to an endpoint. */
export function handleCall(endpointRequest: EndpointRequest, context: RestContext): void {
  const { match, exchange } = endpointRequest;
  const { endpoint, caching } = match;
  const { request, response, requestId } = exchange;
  const { access, stops } = context;
  const observed = observeCall(
    {
      surface: "rest",
      endpoint: endpoint.name,
      requestId,
      address: () => clientOf(request, access.proxies).address,
      raw: undefined,
      traceparent: request.headers["traceparent"]?.toString(),
    },
    context.now,
  );
  endpointRequest.setObservedCall?.(observed);
  runCall<void>(
    {
      observed,
      rateLimitTarget: endpoint,
      authenticate: () => authenticate(endpoint.auth, exchange, context),
      onRateLimitState: (state) => setRateLimitHeaders(response, state),
      addHeaders(headers) {
        for (const [name, value] of headers) response.setHeader(name, value);
      },
      stopReason: () => (response.destroyed ? { kind: "cancelled" } : undefined),
      onStop(stop) {
        const onClose = (): void => {
          if (!response.writableFinished) stop({ kind: "cancelled" });
        };
        stops.add(stop);
        response.once("close", onClose);
        return () => {
          stops.delete(stop);
          response.off("close", onClose);
        };
      },
      respond({ identity, withDeadline }) {
        const key = cacheKey(endpointRequest, identity);
        const isCacheable = key !== undefined && !requestsRefresh(endpoint, request.headers["cache-control"]);
        const cached = isCacheable ? context.responseCache.find(key) : undefined;
        if (cached !== undefined) {
          noteCached(cached, observed);
          // The audit records the parameters of every call.
          if (!context.needsParameters && sendSynchronously(cached, exchange)) return;
        }
        return withDeadline((deadline) =>
          respond({ endpointRequest, key, cached, identity, observed, deadline }, context),
        );
      },
      fail: (failure) => sendFailure(failure, exchange, caching),
      progress: () => progressOf(response),
      whenSent(onSent, isSent) {
        if (isSent) return onSent(response.statusCode);
        const { socket } = request;
        const bytesBefore = socket.bytesWritten;
        whenClosed(exchange, (status) => {
          observed.bytes = socket.bytesWritten - bytesBefore;
          onSent(status);
        });
      },
    },
    context,
  );
}

interface EndpointCall {
  readonly endpointRequest: EndpointRequest;
  /** Identifies the response, for the response cache and ETags. Undefined if it is not cacheable. */
  readonly key: string | undefined;
  readonly cached: WholeResponse | undefined;
  readonly identity: Identity;
  readonly observed: ObservedCall;
  readonly deadline: Deadline;
}

async function respond(endpointCall: EndpointCall, context: RestContext): Promise<void> {
  const { endpointRequest, key, cached, identity, observed, deadline } = endpointCall;
  const { target, match } = endpointRequest;
  const { endpoint, pathParams, headers, caching } = match;
  const { request, response, requestId } = endpointRequest.exchange;
  const { services } = context;
  const { limits } = services;
  const exchange: EndpointExchange = { request, response, requestId, deadline, limits, caching };
  if (cached !== undefined && !context.needsParameters) return await sendResponse(cached, exchange);
  const reading = readParams(request, target, { endpoint, pathParams, headers, maxBodyBytes: limits.maxBodyBytes });
  const raw = reading instanceof Promise ? await reading : reading;
  observed.raw = raw;
  if (cached !== undefined) return await sendResponse(cached, exchange);
  observed.marks = openMarks(deadline.spentMs);
  const negotiate = negotiatorFor(endpoint.operation);
  const { format, codec, errors } = negotiate(raw.query.get("format")?.text, request.headers.accept);
  observed.format = format.name;
  const call: Call = { raw, errors, identity, deadline, observed };
  if (endpoint.operation.kind !== "write") {
    return await handleRead({ endpoint, call, format, codec, key, observed }, exchange, context);
  }
  const idempotencyKey = idempotencyKeyOf(request.headers);
  const { returns } = endpoint.operation;
  const encode = (written: WriteResult, earlier?: string) => encodeWritten(written, earlier, returns);
  const written = await runWrite(endpoint, { ...call, idempotencyKey, encode }, services);
  setServerTiming(observed, exchange, context);
  await sendResponse(writtenResponse(written, caching), exchange);
}

/** Everything that the response to a GET depends on, except the data. Undefined if it may depend on more. */
function cacheKey({ match, exchange: { request } }: EndpointRequest, identity: Identity) {
  const { endpoint, headers } = match;
  if (endpoint.route?.method !== "GET" || endpoint.operation.kind === "write") return undefined;
  let key = `${identityKey(identity)}${keyPart(request.headers.accept)}\n${request.url}`;
  for (const name of headers) key += keyPart(headerValue(request.headers, name));
  return key;
}

/** The part of a key for a header. Absent and empty headers differ. Values contain no line breaks. */
function keyPart(value: string | undefined): string {
  return value === undefined ? "\n" : `\n=${value}`;
}

function noteCached({ size, cached, rows, format }: WholeResponse, observed: ObservedCall): void {
  observed.rows = rows;
  observed.format = format;
  observed.bytes = size;
  observed.cache = cached?.state;
  observed.fromResponseCache = true;
}
