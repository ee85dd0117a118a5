import type { CachedFrom } from "../calls/cached-read.ts";
import type { Call } from "../calls/call.ts";
import type { ObservedCall } from "../calls/observed-call.ts";
import { type FileResult, type ReadResult, runEndpoint, runIntoFile } from "../calls/run-endpoint.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { andThen, type Eventually } from "../eventually.ts";
import type { Format } from "../formats/format.ts";
import type { RestContext } from "./context.ts";
import type { EndpointExchange } from "./exchange.ts";
import { beginResponse, type FileResponse, type RowsResponse } from "./response/begin-response.ts";
import {
  attachmentHeaders,
  type CachedResponse,
  type CachingInfo,
  nextPage,
  responseHeaders,
} from "./response/headers.ts";
import { isGetOrHead, matchesTag } from "./response/if-none-match.ts";
import { sendResponse, sendSynchronously, type UnchangedResponse } from "./response/send-response.ts";
import { tagOf } from "./response/whole-response.ts";
import { setServerTiming } from "./server-timing.ts";

/** A call to a read endpoint, and how to respond to it. */
export interface ReadCall {
  readonly endpoint: Endpoint;
  readonly call: Call;
  readonly format: Format;
  /** Compresses the contents of the format, for example `lz4` in Arrow. */
  readonly codec: string | undefined;
  /** Identifies the response, for the response cache and ETags. Undefined if it is not cacheable. */
  readonly key: string | undefined;
  readonly observed: ObservedCall;
}

/** Runs a read and sends its rows. */
export async function handleRead(readCall: ReadCall, exchange: EndpointExchange, context: RestContext): Promise<void> {
  const { endpoint, format, key } = readCall;
  const { request } = exchange;
  const { raw, errors, identity, deadline, observed } = readCall.call;
  const call: Call = {
    raw,
    errors,
    identity,
    deadline,
    observed,
    refresh: requestsRefresh(endpoint, request.headers["cache-control"]),
    clientHas(cached) {
      const clientTags = isGetOrHead(request) ? request.headers["if-none-match"] : undefined;
      // `*` matches if the object exists, which is known only after the read.
      if (endpoint.operation.returns === "one" && clientTags?.trim() === "*") return false;
      const tag = clientTags === undefined ? undefined : cachedResponse(cached, key, context.now).tag;
      return tag !== undefined && matchesTag(clientTags, tag);
    },
  };
  const result =
    format.kind === "file"
      ? await runIntoFile(endpoint, call, { ...context.services, kind: format.file })
      : await runEndpoint(endpoint, call, context.services);
  const { vary, isPrivate } = exchange.caching;
  const cached = result.cached && cachedResponse(result.cached, key, context.now);
  const cachingInfo: CachingInfo = { vary, isPrivate, cached };
  if (result.kind === "unchanged") return await sendResponse(unchangedResponse(cachingInfo), exchange);
  const begun =
    result.kind === "file"
      ? fileResponse(result, { endpoint, format, cachingInfo }, exchange)
      : rowsResponse(result, { readCall, cachingInfo }, exchange, context);
  const response = begun instanceof Promise ? await begun : begun;
  setServerTiming(readCall.observed, exchange, context);
  if (response.kind === "whole" && sendSynchronously(response, exchange)) return;
  await sendResponse(response, exchange);
}

function fileResponse(
  { file, page }: FileResult,
  {
    endpoint,
    format,
    cachingInfo,
  }: { readonly endpoint: Endpoint; readonly format: Format; readonly cachingInfo: CachingInfo },
  { request }: EndpointExchange,
): FileResponse {
  const { cached } = cachingInfo;
  const headers = [
    ...responseHeaders(page, nextPage(page, request.url ?? "/"), cachingInfo),
    ...attachmentHeaders(endpoint, format),
  ];
  return { kind: "file", headers, contentType: format.contentType, file, tag: cached?.tag, cached };
}

function rowsResponse(
  { rows, page }: ReadResult,
  { readCall, cachingInfo }: { readonly readCall: ReadCall; readonly cachingInfo: CachingInfo },
  { request, limits }: EndpointExchange,
  { services, responseCache }: RestContext,
): Eventually<RowsResponse> {
  const { endpoint, format, codec, key, observed } = readCall;
  if (format.kind !== "rows") throw new Error(`the format ${format.name} does not encode rows`);
  const { returns } = endpoint.operation;
  const tagOfData = async (): Promise<string | undefined> => {
    const data = key === undefined ? undefined : await rows.watch();
    return data?.isUnchanged() ? tagOf(Buffer.from(`${data.version}\n${key}`)) : undefined;
  };
  const { spool } = services;
  const options = { format, codec, returns, url: request.url ?? "/", cachingInfo, limits, spool, tagOfData };
  return andThen(beginResponse({ rows, page }, options), (response) => {
    if (response.kind === "whole" && key !== undefined) {
      responseCache.offer(key, response.size, rows.watch, () => ({
        ...response,
        // For later requests, it is a cache hit, even if this one had to fill the cache.
        cached: response.cached && { ...response.cached, state: "hit" },
        rows: observed.rows,
        format: observed.format,
      }));
    }
    return response;
  });
}

/** 304: the client already has the rows of this snapshot. */
function unchangedResponse(cachingInfo: CachingInfo): UnchangedResponse {
  const { cached } = cachingInfo;
  return { kind: "unchanged", headers: responseHeaders(undefined, "", cachingInfo), tag: cached?.tag, cached };
}

/** What the response says about the snapshot that its rows come from. */
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
