import type { CachedFrom } from "../calls/cached-read.ts";
import type { ObservedCall } from "../calls/observed-call.ts";
import { type Call, runEndpoint, runIntoFile } from "../calls/run-endpoint.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { FileFormat, Format, RowFormat } from "../formats/format.ts";
import type { RestContext } from "./context.ts";
import type { EndpointExchange } from "./exchange.ts";
import { beginResponse } from "./response/begin-response.ts";
import {
  attachmentHeaders,
  type CachedResponse,
  type CachingInfo,
  nextPage,
  responseHeaders,
} from "./response/headers.ts";
import { isGetOrHead, matchesTag } from "./response/if-none-match.ts";
import { type EndpointResponse, sendResponse, type UnchangedResponse } from "./response/send-response.ts";
import { tagOf } from "./response/whole-response.ts";
import { setServerTiming } from "./server-timing.ts";

export interface ReadCall<F extends Format = Format> {
  readonly endpoint: Endpoint;
  readonly call: Call;
  readonly format: F;
  readonly codec: string | undefined;
  /** Key in the response cache. Undefined: the response is not cacheable. */
  readonly key: string | undefined;
  readonly observed: ObservedCall;
}

/** Runs a read and sends its rows. */
export async function handleRead(reading: ReadCall, exchange: EndpointExchange, context: RestContext): Promise<void> {
  const { endpoint, format, key } = reading;
  const { request } = exchange;
  const call: Call = {
    ...reading.call,
    refresh: requestsRefresh(endpoint, request.headers["cache-control"]),
    clientHas(cached) {
      const clientTags = isGetOrHead(request) ? request.headers["if-none-match"] : undefined;
      // `*` matches any existing object. Whether there is one is known only after the read.
      if (endpoint.operation.returns === "one" && clientTags?.trim() === "*") return false;
      const tag = clientTags === undefined ? undefined : cachedResponse(cached, key, context.now).tag;
      return tag !== undefined && matchesTag(clientTags, tag);
    },
  };
  const response =
    format.kind === "file"
      ? await fileResponse({ ...reading, call, format }, exchange, context)
      : await rowsResponse({ ...reading, call, format }, exchange, context);
  if (response.kind !== "unchanged") setServerTiming(reading.observed, exchange, context);
  await sendResponse(response, exchange);
}

async function fileResponse(
  { endpoint, call, format, key }: ReadCall<FileFormat>,
  { request, caching }: EndpointExchange,
  { services, now }: RestContext,
): Promise<EndpointResponse> {
  const outcome = await runIntoFile(endpoint, call, { ...services, kind: format.file });
  const cachingInfo: CachingInfo = { ...caching, cached: outcome.cached && cachedResponse(outcome.cached, key, now) };
  if (outcome.kind === "unchanged") return unchangedResponse(cachingInfo);
  const { file, page } = outcome;
  const { cached } = cachingInfo;
  const headers = [
    ...responseHeaders(page, nextPage(page, request.url ?? "/"), cachingInfo),
    ...attachmentHeaders(endpoint, format),
  ];
  return { kind: "file", headers, contentType: format.contentType, file, tag: cached?.tag, cached };
}

async function rowsResponse(
  { endpoint, call, format, codec, key, observed }: ReadCall<RowFormat>,
  { request, caching, limits }: EndpointExchange,
  { services, now, responseCache }: RestContext,
): Promise<EndpointResponse> {
  const outcome = await runEndpoint(endpoint, call, services);
  const cachingInfo: CachingInfo = { ...caching, cached: outcome.cached && cachedResponse(outcome.cached, key, now) };
  if (outcome.kind === "unchanged") return unchangedResponse(cachingInfo);
  const { rows, page } = outcome;
  const { returns } = endpoint.operation;
  const options = { format, codec, returns, url: request.url ?? "/", cachingInfo, limits, spool: services.spool };
  const response = await beginResponse({ rows, page }, options);
  if (response.kind === "whole" && key !== undefined) {
    const cached = response.cached && { ...response.cached, state: "hit" as const };
    responseCache.offer(key, { ...response, cached, rows: observed.rows, format: observed.format }, rows.watch);
  }
  return response;
}

function unchangedResponse(cachingInfo: CachingInfo): UnchangedResponse {
  const { cached } = cachingInfo;
  return { kind: "unchanged", headers: responseHeaders(undefined, "", cachingInfo), tag: cached?.tag, cached };
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

/** Whether the client requests a cache refresh with `no-cache`, and the endpoint allows that. */
export function requestsRefresh({ cache }: Endpoint, header: string | undefined): boolean {
  if (cache === undefined || cache.kind === "on-write" || !cache.allowsClientRefresh) return false;
  return /(?:^|,)\s*no-cache\s*(?:,|$)/i.test(header ?? "");
}
