import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Deadline } from "../calls/deadline.ts";
import type { Outcome } from "../calls/run-endpoint.ts";
import type { Limits } from "../config/project.ts";
import { RequestFailure } from "../failure.ts";
import type { Encoder, Format, Frame } from "../formats/format.ts";
import type { Chunk } from "../result/chunk.ts";
import type { Column } from "../result/column.ts";
import { sliceChunk } from "../result/slice-chunk.ts";
import { nextLink } from "./next-link.ts";

/** An answer up to this size is sent in one piece, with its length; a larger one is streamed. */
const WHOLE_ANSWER_BYTES = 64 * 1024;
/** A long answer begins with so few rows that its first bytes do not wait for the encoding of thousands. */
const FIRST_ROWS = 512;

export interface Reply {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly format: Format;
  readonly deadline: Deadline;
  readonly limits: Limits;
}

/** Rows become the response: never all of them in memory, and cut off, not closed, when they break off. */
export async function sendOutcome({ rows, page }: Outcome, reply: Reply): Promise<void> {
  const { request, response, format } = reply;
  try {
    const next = page === undefined ? "" : nextPage(page, request);
    const headers: OutgoingHttpHeaders = { "Content-Type": format.contentType };
    let frame: Frame = { kind: "rows" };
    if (page !== undefined) {
      frame = { kind: "page", next, total: page.total };
      headers["X-Total-Count"] = page.total;
      headers["X-Offset"] = page.offset;
      headers["X-Limit"] = page.limit;
      headers["X-Next"] = next;
    }
    if (request.method === "HEAD" && page === undefined) {
      response.writeHead(200, headers).end();
      return;
    }
    if (format.kind === "file") throw new Error("not yet");
    await sendRows(rows, format.open(rows.columns, frame), { headers, reply });
  } finally {
    await rows.close();
  }
}

function nextPage({ limit, offset, total }: Outcome["page"] & object, request: IncomingMessage): string {
  const next = offset + limit;
  return limit > 0 && next < total ? nextLink(request.url ?? "/", next) : "";
}

async function sendRows(
  rows: Outcome["rows"],
  encoder: Encoder,
  { headers, reply }: { readonly headers: OutgoingHttpHeaders; readonly reply: Reply },
): Promise<void> {
  const { response, deadline } = reply;
  const waiting: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const chunk = await deadline.spend(() => rows.next());
    if (chunk === undefined) break;
    for (const piece of response.headersSent ? [chunk] : firstRows(chunk, rows.columns)) {
      const bytes = encoder.encode(piece);
      waiting.push(bytes);
      size += bytes.length;
      if (size <= WHOLE_ANSWER_BYTES) continue;
      if (!response.headersSent) response.writeHead(200, headers);
      await writeAll(waiting.splice(0), reply);
    }
  }
  waiting.push(encoder.end());
  const rest = waiting.length === 1 && waiting[0] !== undefined ? waiting[0] : Buffer.concat(waiting);
  if (!response.headersSent) response.writeHead(200, { ...headers, "Content-Length": rest.length });
  response.end(rest);
  if (response.writableLength > 0) await taken("finish", reply);
}

function firstRows(chunk: Chunk, columns: readonly Column[]): readonly Chunk[] {
  if (chunk.rows <= FIRST_ROWS) return [chunk];
  const first = sliceChunk(chunk, columns, { from: 0, to: FIRST_ROWS });
  return [first, sliceChunk(chunk, columns, { from: FIRST_ROWS, to: chunk.rows })];
}

async function writeAll(pieces: readonly Uint8Array[], reply: Reply): Promise<void> {
  let flows = true;
  for (const piece of pieces) flows = reply.response.write(piece);
  if (!flows) await taken("drain", reply);
}

/** Waits until the client has taken what it was sent. One that never does is cut off. */
function taken(event: "drain" | "finish", { response, deadline, limits }: Reply): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (done: () => void): void => {
      clearTimeout(timer);
      response.off(event, onTaken).off("close", onClose);
      deadline.signal.removeEventListener("abort", onClose);
      done();
    };
    const onTaken = (): void => settle(resolve);
    const onClose = (): void =>
      settle(() => reject(deadline.signal.reason ?? new RequestFailure({ kind: "cancelled" })));
    const timer = setTimeout(onClose, limits.stalledClientTimeoutMs);
    // The client may have left while the last rows came; there is nothing more to hear then.
    if (deadline.signal.aborted || response.destroyed) return onClose();
    response.on(event, onTaken).on("close", onClose);
    deadline.signal.addEventListener("abort", onClose);
  });
}
