import type { Endpoint } from "../../endpoint/endpoint.ts";
import type { FileFormat } from "../../formats/format.ts";
import type { SpooledFile } from "../../spool/spooled-file.ts";
import type { Exchange } from "../exchange.ts";
import { plainBody } from "./body-writer.ts";
import type { HeaderList } from "./headers.ts";

/** An answer that lies in a file. */
export interface FileAnswer {
  readonly file: SpooledFile;
  readonly format: FileFormat;
  readonly headers: HeaderList;
  /** Under which a browser saves it, without an ending. */
  readonly name: string;
}

const NOTHING = new Uint8Array(0);

/** Sends a file with its length, as fast as the client reads it, and closes it. */
export async function sendFile({ file, format, headers, name }: FileAnswer, exchange: Exchange): Promise<void> {
  const { request, response, requestId } = exchange;
  try {
    response.writeHead(200, [
      ...headers,
      "X-Request-Id",
      requestId,
      "Content-Type",
      format.contentType,
      "Content-Length",
      String(file.size),
      "Content-Disposition",
      `attachment; filename="${name}.${format.name}"`,
    ]);
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

/** The last fixed part of the path, in characters that no system minds in a file's name. */
export function fileNameOf({ route }: Pick<Endpoint, "route">): string {
  const last = route?.segments.findLast((segment) => segment.kind === "text");
  const safe = last?.kind === "text" ? last.text.replace(/[^\w.-]+/g, "_").replace(/^\.+/, "") : "";
  return safe === "" ? "data" : safe;
}
