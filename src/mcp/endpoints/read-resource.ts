import type { CachedFrom } from "../../calls/cached-read.ts";
import type { CallContext } from "../../calls/run-call.ts";
import type { McpSettings } from "../../config/mcp-config.ts";
import type { Failure } from "../../failure.ts";
import type { RawValue } from "../../params/parameter.ts";
import type { Column } from "../../result/column.ts";
import { type McpCall, McpError, type McpProblem, type ResourceResult } from "../mcp-service.ts";
import { rawParamsOf } from "./arguments.ts";
import { attempt, type CallState } from "./attempt.ts";
import type { Resource } from "./catalog.ts";
import { blobColumn, type EndpointRun, takeRows, takeValue, withRows } from "./read-rows.ts";
import type { ResultKind } from "./result-kind.ts";
import { firstColumnText, rowsText } from "./rows-text.ts";
import { moreRowsHint } from "./tool-result.ts";

export interface ResourceRequest {
  readonly uri: string;
  readonly args: ReadonlyMap<string, RawValue>;
  readonly call: McpCall;
}

export interface ResourceContext {
  readonly context: CallContext;
  readonly settings: McpSettings;
}

/** Reads a resource. Rejects with an McpError. */
export async function readResource(
  resource: Resource,
  { uri, args, call }: ResourceRequest,
  { context, settings }: ResourceContext,
): Promise<ResourceResult> {
  const params = rawParamsOf(resource.locations, args);
  const work = (state: CallState): Promise<Contents> => {
    call.progress(0, 100, "running the query");
    return contentsOf(resource, { ...state, target: resource, params, call, services: context.services }, settings);
  };
  const outcome = await attempt(resource, { call, raw: params.raw, work }, context);
  if (outcome.kind === "failed") throw new McpError(problemOf(uri, outcome));
  call.progress(100, 100, "done");
  const { contents, cached } = outcome.value;
  if (contents.length === 0) throw new McpError({ kind: "resource-not-found", uri });
  return {
    contents: JSON.stringify(contents.map((content) => ({ uri, ...content }))),
    ttlMs: ttlOf(cached, context.now().getTime()),
    isPrivate: isPrivateResource(resource, settings),
  };
}

type Content =
  | { readonly mimeType: string; readonly text: string }
  | { readonly mimeType: string; readonly blob: string };

interface Contents {
  readonly contents: readonly Content[];
  readonly cached: CachedFrom | undefined;
}

function contentsOf({ mcp, result }: Resource, run: EndpointRun, settings: McpSettings): Promise<Contents> {
  const { mimeType } = mcp;
  return withRows(run, async (opened) => {
    const { cached } = opened;
    const index = blobColumnOf(result, opened.columns);
    if (index >= 0) {
      const blob = await takeValue(opened, index, run);
      return { contents: blob === undefined ? [] : [{ mimeType, blob }], cached };
    }
    const rows = await takeRows(opened, run, settings);
    const text = result.kind === "rows" ? rowsText(rows, result.format) : firstColumnText(rows);
    const hint = moreRowsHint(rows, settings);
    const hints = hint === undefined ? [] : [{ mimeType: "text/plain", text: hint }];
    return { contents: [{ mimeType, text }, ...hints], cached };
  });
}

/** The index of the BLOB column that contains the resource, or -1 if the resource is text. */
function blobColumnOf(result: ResultKind, columns: readonly Column[]): number {
  switch (result.kind) {
    case "rows":
      return -1;
    case "media":
      return blobColumn(columns);
    case "values":
      return blobColumn(columns.slice(0, 1));
  }
}

/** A snapshot is current until its next refresh. Uncached rows may change at any time. */
function ttlOf(cached: CachedFrom | undefined, now: number): number {
  if (cached?.scheduleMs === undefined || cached.state === "stale") return 0;
  return Math.max(0, cached.createdAtMs + cached.scheduleMs - now);
}

/** Whether other users, or other URIs, may get different contents. */
function isPrivateResource({ endpoint }: Resource, { auth }: McpSettings): boolean {
  const reads = [...(endpoint.template?.reads.values() ?? [])];
  return (
    auth !== undefined ||
    endpoint.auth !== undefined ||
    endpoint.parameters.length > 0 ||
    reads.some(({ scope }) => scope === "auth")
  );
}

function problemOf(
  uri: string,
  { failure, advice: message }: { readonly failure: Failure; readonly advice: string },
): McpProblem {
  if (failure.kind === "no-row") return { kind: "resource-not-found", uri };
  return { kind: failure.kind === "invalid-params" ? "invalid-params" : "internal", message };
}
