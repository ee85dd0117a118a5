import type { ToolResult } from "../mcp-service.ts";
import type { GatherLimits } from "./gather-rows.ts";
import type { ReadRows } from "./read-rows.ts";

export function textBlock(text: string): string {
  return `{"type":"text","text":${JSON.stringify(text)}}`;
}

/** A failure that the client can act on. */
export function failedResult(text: string): ToolResult {
  return { content: `[${textBlock(text)}]`, structuredContent: undefined, isError: true };
}

/** Rows as text, with a hint if some are missing. */
export function rowsResult(rows: ReadRows, text: string, limits: GatherLimits): ToolResult {
  const hint = moreRowsHint(rows, limits);
  const content = hint === undefined ? `[${textBlock(text)}]` : `[${textBlock(text)},${textBlock(hint)}]`;
  return { content, structuredContent: undefined, isError: false };
}

/** The rows as structured content. Text and structured content contain the same rows. */
export function structuredRows(rows: ReadRows): string {
  const { json, count, page } = rows;
  const offset = nextOffset(rows);
  let text = `{"rows":${json},"row_count":${count}`;
  if (hasMore(rows)) text += ',"truncated":true';
  if (page !== undefined) text += `,"total_count":${page.total}`;
  if (offset !== undefined) text += `,"next_offset":${offset}`;
  return `${text}}`;
}

function nextOffset({ count, page }: ReadRows): number | undefined {
  // After an empty page, as with `limit` 0, the next page would be the same.
  return page !== undefined && count > 0 && page.offset + count < page.total ? page.offset + count : undefined;
}

function hasMore(rows: ReadRows): boolean {
  return rows.exceededLimit !== undefined || nextOffset(rows) !== undefined;
}

/** A hint that there are more rows. Undefined if there are none. */
export function moreRowsHint(rows: ReadRows, { maxTextBytes }: GatherLimits): string | undefined {
  if (!hasMore(rows)) return undefined;
  const { count, exceededLimit, page } = rows;
  if (count === 0) {
    return `The first row alone is larger than ${maxTextBytes} bytes, which is the limit; ask for fewer or shorter columns`;
  }
  const size = exceededLimit === "bytes" ? ` (${maxTextBytes} bytes is the limit)` : "";
  if (page === undefined)
    return `Result limited to the first ${count} rows${size}, there are more; use narrower filters`;
  const next = nextOffset(rows);
  const nextHint = next === undefined ? "" : `; the next offset is ${next}`;
  return `Result limited to ${count} of ${page.total} rows${size}; use limit/offset or narrower filters${nextHint}`;
}
