import type { Call } from "../../calls/call.ts";
import type { CallContext } from "../../calls/run-call.ts";
import { runWrite } from "../../calls/run-write.ts";
import type { McpSettings } from "../../config/mcp-config.ts";
import type { WriteResult } from "../../engines/rows.ts";
import type { RawValue } from "../../params/parameter.ts";
import type { McpCall, ToolResult } from "../mcp-service.ts";
import { rawParamsOf } from "./arguments.ts";
import { attempt, type CallState } from "./attempt.ts";
import type { Tool } from "./catalog.ts";
import { gatherRows } from "./gather-rows.ts";
import { blobColumn, type EndpointRun, onlyElement, takeRows, takeValue, withRows } from "./read-rows.ts";
import { firstColumnText, rowsText } from "./rows-text.ts";
import { failedResult, rowsResult, structuredRows, textBlock } from "./tool-result.ts";

export interface ToolContext {
  readonly context: CallContext;
  readonly settings: McpSettings;
}

/** Runs a tool. Never rejects: a failure is a result that the client can act on. */
export async function callTool(
  tool: Tool,
  { args, call }: { readonly args: ReadonlyMap<string, RawValue>; readonly call: McpCall },
  { context, settings }: ToolContext,
): Promise<ToolResult> {
  const params = rawParamsOf(tool.locations, args);
  const work = (state: CallState): Promise<ToolResult> => {
    call.progress(0, 100, "running the query");
    call.log("info", `running ${tool.mcp.name}`);
    const run: EndpointRun = { ...state, target: tool, params, call, services: context.services };
    return tool.endpoint.operation.kind === "write"
      ? writeResult(tool, run, settings)
      : readResult(tool, run, settings);
  };
  const result = await attempt(tool, { call, raw: params.raw, work }, context);
  if (result.kind === "failed") {
    call.log("error", result.advice);
    return failedResult(result.advice);
  }
  call.progress(100, 100, "done");
  return result.value;
}

function readResult({ endpoint, mcp, result }: Tool, run: EndpointRun, settings: McpSettings): Promise<ToolResult> {
  const { call, observed } = run;
  return withRows(run, async (opened) => {
    if (result.kind === "media") {
      const index = blobColumn(opened.columns);
      if (index < 0) return failedResult("The query returns no BLOB column");
      const data = await takeValue(opened, index, run);
      if (data === undefined) return failedResult("The query returned no value");
      observed.format = result.block;
      call.log("info", `${result.block} read`);
      const block = { type: result.block, data, mimeType: mcp.mimeType };
      return { content: JSON.stringify([block]), structuredContent: undefined, isError: false };
    }
    const rows = await takeRows(opened, run, settings);
    call.log("info", `${rows.count} rows read`);
    if (result.kind === "values") {
      observed.format = "text";
      return rowsResult(rows, firstColumnText(rows), settings);
    }
    // A JSON result is structured content. Its text, for clients that ignore structured content, may have another format.
    const isStructured = result.format === "json";
    const textFormat = isStructured ? settings.resultText : result.format;
    observed.format = textFormat;
    const textResult = rowsResult(rows, rowsText(rows, textFormat), settings);
    if (!isStructured) return textResult;
    const structuredContent = endpoint.operation.returns === "one" ? rows.json : structuredRows(rows);
    return { ...textResult, structuredContent };
  });
}

/** Runs a write, without an idempotency key: if it fails, the client decides whether to call the tool again. */
async function writeResult({ endpoint }: Tool, run: EndpointRun, settings: McpSettings): Promise<ToolResult> {
  const { params, call, deadline, observed, services } = run;
  const encode = async ({ rowsAffected, rows }: WriteResult): Promise<string> => {
    call.progress(50, 100, "statements executed");
    call.log("info", "statements executed");
    observed.format = "json";
    if (rows === undefined) return `{"rows_affected":${rowsAffected}}`;
    const { json, exceededLimit } = await gatherRows(rows, () => rows.next(), settings);
    if (exceededLimit !== undefined) await rows.close();
    if (endpoint.operation.returns === "one") {
      return `{"rows_affected":${rowsAffected},${exceededLimit === undefined ? `"data":${onlyElement(json)}` : '"truncated":true'}}`;
    }
    return `{"rows_affected":${rowsAffected},"data":${json}${exceededLimit === undefined ? "" : ',"truncated":true'}}`;
  };
  const writeCall: Call = { ...params, identity: call.identity, deadline, observed };
  const { rowsAffected, body } = await runWrite(
    endpoint,
    { ...writeCall, idempotencyKey: undefined, encode },
    services,
  );
  call.log("info", `${rowsAffected} rows changed`);
  return { content: `[${textBlock(body)}]`, structuredContent: body, isError: false };
}
