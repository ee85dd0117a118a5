import type { CachedFrom } from "../calls/cached-read.ts";
import type { ObservedCall } from "../calls/observed-call.ts";
import { type Call, runEndpoint, runIntoFile } from "../calls/run-endpoint.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Format } from "../formats/format.ts";
import type { EndpointExchange } from "./exchange.ts";
import { countRows, keepKnown } from "./observe-call.ts";
import { beginResponse } from "./response/begin-response.ts";
import { type CachedResponse, nextPage, responseHeaders, type Sharing, snapshotHeaders } from "./response/headers.ts";
import { hasCurrent, isRead } from "./response/if-none-match.ts";
import { attachment, sendFile } from "./response/send-file.ts";
import { sendLong } from "./response/send-long.ts";
import { sendWhole } from "./response/send-whole.ts";
import { tagOf } from "./response/whole-response.ts";
import type { RestContext } from "./rest-app.ts";
import { setServerTiming } from "./server-timing.ts";

/** A read that somebody may make. */
export interface ReadCall {
  readonly endpoint: Endpoint;
  readonly call: Call;
  readonly format: Format;
  readonly codec: string | undefined;
  /** By which its answer may be remembered. */
  readonly key: string | undefined;
  readonly observed: ObservedCall | undefined;
}

/** Runs a read and sends what comes of it. */
export async function handleRead(reading: ReadCall, exchange: EndpointExchange, context: RestContext): Promise<void> {
  const { endpoint, format, codec, key, observed } = reading;
  const { request, deadline, limits } = exchange;
  const { service } = context;
  const url = request.url ?? "/";
  const sharingOf = (cached: CachedFrom | undefined): Sharing => ({
    ...exchange.caching,
    cached: cached && cachedResponse(cached, key, context.now),
  });
  const call: Call = {
    ...reading.call,
    refresh: asksForNewRows(endpoint, request.headers["cache-control"]),
    has(cached) {
      const known = isRead(request) ? request.headers["if-none-match"] : undefined;
      const tag = known === undefined ? undefined : cachedResponse(cached, key, context.now).tag;
      return tag !== undefined && hasCurrent(known, tag);
    },
  };
  if (format.kind === "file") {
    const outcome = await runIntoFile(endpoint, call, { ...service, kind: format.file });
    if (observed !== undefined) observed.cache = outcome.cached?.state;
    const sharing = sharingOf(outcome.cached);
    if (outcome.kind === "unchanged") return sendUnchanged(sharing, exchange);
    setServerTiming(observed, exchange, context);
    const { file, page } = outcome;
    const headers = [...responseHeaders(page, nextPage(page, url), sharing), ...attachment(endpoint, format)];
    const { cached } = sharing;
    const { contentType } = format;
    return await sendFile({ kind: "file", headers, contentType, file, tag: cached?.tag, cached }, exchange);
  }
  const outcome = await runEndpoint(endpoint, call, service);
  if (observed !== undefined) observed.cache = outcome.cached?.state;
  const sharing = sharingOf(outcome.cached);
  if (outcome.kind === "unchanged") return sendUnchanged(sharing, exchange);
  const rows = observed === undefined ? outcome.rows : countRows(outcome.rows, observed);
  const recipe = { format, codec, url, sharing, deadline, limits, spool: service.spool };
  const answer = await beginResponse({ rows, page: outcome.page }, recipe);
  setServerTiming(observed, exchange, context);
  switch (answer.kind) {
    case "whole":
      if (key !== undefined) {
        const again =
          answer.cached === undefined ? answer : { ...answer, cached: { ...answer.cached, state: "hit" as const } };
        if (observed !== undefined) keepKnown(again, observed);
        context.remembered.offer(key, again, rows.watch);
      }
      return await sendWhole(answer, exchange);
    case "file":
      return await sendFile(answer, exchange);
    case "long":
      return await sendLong(answer, exchange);
  }
}

function cachedResponse(
  { uid, createdAtMs, state, scheduleMs }: CachedFrom,
  key: string | undefined,
  now: () => Date,
): CachedResponse {
  return {
    tag: key === undefined ? undefined : tagOf(Buffer.from(`${uid}\n${key}`)),
    state,
    age: () => Math.max(0, Math.floor((now().getTime() - createdAtMs) / 1000)),
    scheduleMs,
  };
}

/** A client may ask for newer rows than the cache has, where the endpoint lets it. */
export function asksForNewRows({ cache }: Endpoint, header: string | undefined): boolean {
  if (cache === undefined || cache.kind === "on-write" || !cache.allowsClientRefresh) return false;
  return /(?:^|,)\s*no-cache\s*(?:,|$)/i.test(header ?? "");
}

function sendUnchanged(sharing: Sharing, { response, requestId }: EndpointExchange): void {
  const headers = [
    ...responseHeaders(undefined, "", sharing),
    ...snapshotHeaders(sharing.cached),
    "X-Request-Id",
    requestId,
  ];
  response.writeHead(304, [...headers, "ETag", `"${sharing.cached?.tag}"`]).end();
}
