import type { Endpoint } from "../../endpoint/endpoint.ts";
import type { FileFormat } from "../../formats/format.ts";
import type { SpooledFile } from "../../spool/spooled-file.ts";
import type { EndpointExchange } from "../exchange.ts";
import { plainBody } from "./body-writer.ts";
import { type CachedResponse, type HeaderList, snapshotHeaders } from "./headers.ts";
import { hasCurrent, isRead } from "./if-none-match.ts";

/** An answer that lies in a file. */
export interface FileResponse {
  readonly kind: "file";
  readonly headers: HeaderList;
  readonly contentType: string;
  readonly file: SpooledFile;
  /** Names exactly these bytes, where that is known; an ETag without its quotes. */
  readonly tag: string | undefined;
  readonly cached: CachedResponse | undefined;
}

const NOTHING = new Uint8Array(0);

/** Sends a file with its length, as fast as the client reads it, and closes it. */
export async function sendFile(answer: FileResponse, exchange: EndpointExchange): Promise<void> {
  const { file, contentType, tag } = answer;
  const { request, response, requestId } = exchange;
  try {
    const headers = [...answer.headers, ...snapshotHeaders(answer.cached), "X-Request-Id", requestId];
    if (tag !== undefined && isRead(request)) {
      headers.push("ETag", `"${tag}"`);
      if (hasCurrent(request.headers["if-none-match"], tag)) {
        response.writeHead(304, headers).end();
        return;
      }
    }
    response.writeHead(200, [...headers, "Content-Type", contentType, "Content-Length", String(file.size)]);
    if (request.method === "HEAD") {
      response.end();
      return;
    }
    const body = plainBody(exchange);
    for await (const piece of file.pieces()) await body.write(piece);
    await body.end(NOTHING);
  } finally {
    await file.close();
  }
}

/** Tells a browser to save a file, and under which name. */
export function attachment(endpoint: Pick<Endpoint, "route">, { name }: FileFormat): HeaderList {
  return ["Content-Disposition", `attachment; filename="${fileNameOf(endpoint)}.${name}"`];
}

/** The last fixed part of the path, in characters that no system minds in a file's name. */
export function fileNameOf({ route }: Pick<Endpoint, "route">): string {
  const last = route?.segments.findLast((segment) => segment.kind === "text");
  const safe = last?.kind === "text" ? last.text.replace(/[^\w.-]+/g, "_").replace(/^\.+/, "") : "";
  return safe === "" ? "data" : safe;
}
