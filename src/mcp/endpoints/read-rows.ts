import type { Call } from "../../calls/call.ts";
import { type CallServices, type PageOfRows, type ReadResult, runEndpoint } from "../../calls/run-endpoint.ts";
import type { Rows } from "../../engines/rows.ts";
import { RequestFailure } from "../../failure.ts";
import type { Column } from "../../result/column.ts";
import type { McpCall } from "../mcp-service.ts";
import type { CallState, CallTarget } from "./attempt.ts";
import { type GatheredRows, type GatherLimits, gatherRows } from "./gather-rows.ts";
import { valueTexts } from "./rows-text.ts";

/** An endpoint to run for an authorized client. */
export interface EndpointRun extends CallState {
  readonly target: CallTarget;
  readonly params: Pick<Call, "raw" | "errors">;
  readonly call: McpCall;
  readonly services: CallServices;
}

export interface OpenedRows extends Pick<ReadResult, "page" | "cached"> {
  readonly columns: readonly Column[];
  readonly next: Rows["next"];
}

/** Runs a read, passes its rows to `take`, and closes them. */
export async function withRows<T>(run: EndpointRun, take: (opened: OpenedRows) => Promise<T>): Promise<T> {
  const { target, params, call, deadline, observed, services } = run;
  const { identity } = call;
  const result = await runEndpoint(target.endpoint, { ...params, identity, deadline, observed }, services);
  if (result.kind === "unchanged") throw new Error("only REST requests can be conditional");
  const { rows, page, cached } = result;
  call.progress(50, 100, "reading rows");
  call.log("info", "query executed");
  try {
    return await take({ columns: rows.columns, next: rows.next, page, cached });
  } finally {
    await rows.close();
  }
}

/** Rows, and their page if the read is paginated. With `returns: one`, `json` is the object. */
export interface ReadRows extends GatheredRows {
  readonly page: PageOfRows | undefined;
}

/** Reads rows up to the limits of a result. */
export async function takeRows(opened: OpenedRows, run: EndpointRun, limits: GatherLimits): Promise<ReadRows> {
  const { observed, target } = run;
  const gathered = await gatherRows(opened, opened.next, limits);
  observed.rows = gathered.count;
  const { page } = opened;
  if (target.endpoint.operation.returns === "many") return { ...gathered, page };
  // An object cannot be truncated.
  if (gathered.exceededLimit !== undefined) throw new RequestFailure({ kind: "body-too-large" });
  return { ...gathered, json: onlyElement(gathered.json), page };
}

/** The only element of a JSON array without spaces. */
export function onlyElement(json: string): string {
  return json.slice(1, -1);
}

/** The value of a column in the first row, with bytes in base64. Undefined if there is none. */
export async function takeValue(
  { columns, next }: OpenedRows,
  index: number,
  { observed, services }: EndpointRun,
): Promise<string | undefined> {
  const { rows = 0, vectors = [] } = (await next()) ?? {};
  observed.rows = Math.min(rows, 1);
  const [text] = rows === 0 ? [] : valueTexts(columns, { rows: 1, vectors }, index);
  const { maxBufferedBytes } = services.limits;
  if (text !== undefined && text.length > maxBufferedBytes) throw new RequestFailure({ kind: "body-too-large" });
  return text;
}

/** The index of the first BLOB column, or -1. */
export function blobColumn(columns: readonly Column[]): number {
  return columns.findIndex(({ type }) => type.kind === "blob");
}
