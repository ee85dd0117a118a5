import { type Call, type PageOfRows, type ReadResult, runEndpoint } from "../../calls/run-endpoint.ts";
import { RequestFailure } from "../../failure.ts";
import type { Chunk } from "../../result/chunk.ts";
import type { Column } from "../../result/column.ts";
import type { McpCall } from "../mcp-service.ts";
import type { Attempting, Called, CallState } from "./attempt.ts";
import { type GatheredRows, type GatherLimits, gatherRows } from "./gather-rows.ts";
import { valueTexts } from "./rows-text.ts";

/** A read that somebody may make. */
export interface Reading extends CallState {
  readonly called: Called;
  readonly params: Pick<Call, "raw" | "errors">;
  readonly call: McpCall;
  readonly attempting: Attempting;
}

/** Rows that can be taken. */
export interface OpenedRows extends Pick<ReadResult, "page" | "cached"> {
  readonly columns: readonly Column[];
  readonly next: () => Promise<Chunk | undefined>;
}

/** Runs a read, and closes its rows when enough of them are taken. */
export async function readOpened<T>(reading: Reading, take: (opened: OpenedRows) => Promise<T>): Promise<T> {
  const { called, params, call, deadline, seen, marks, attempting } = reading;
  const { identity } = call;
  const outcome = await runEndpoint(called.endpoint, { ...params, identity, deadline, marks }, attempting.callee);
  if (outcome.kind === "unchanged") throw new Error("nobody said that it has the rows");
  const { rows, page, cached } = outcome;
  seen.cache = cached?.state;
  call.progress(50, 100, "reading rows");
  call.log("info", "query executed");
  const next = (): Promise<Chunk | undefined> => rows.next();
  try {
    return await take({ columns: rows.columns, next: () => deadline.spend(next), page, cached });
  } finally {
    await rows.close();
  }
}

/** Rows, and what is known of those that are not among them. */
export interface ReadRows extends GatheredRows {
  readonly page: PageOfRows | undefined;
}

/** As many rows as a result may hold. */
export async function takeRows(opened: OpenedRows, { seen }: CallState, limits: GatherLimits): Promise<ReadRows> {
  const gathered = await gatherRows(opened, opened.next, limits);
  seen.rows = gathered.count;
  return { ...gathered, page: opened.page };
}

/** The value of a column in the first row, base64 for bytes; undefined when there is none. */
export async function takeValue(
  { columns, next }: OpenedRows,
  index: number,
  { seen, attempting }: Reading,
): Promise<string | undefined> {
  const { rows = 0, vectors = [] } = (await next()) ?? {};
  seen.rows = Math.min(rows, 1);
  const [text] = rows === 0 ? [] : valueTexts(columns, { rows: 1, vectors }, index);
  const { maxBufferedBytes } = attempting.callee.limits;
  if (text !== undefined && text.length > maxBufferedBytes) throw new RequestFailure({ kind: "body-too-large" });
  return text;
}

/** The first column of bytes, or -1. */
export function bytesColumn(columns: readonly Column[]): number {
  return columns.findIndex(({ type }) => type.kind === "blob");
}
