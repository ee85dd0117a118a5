import type { Written } from "../../engines/engine.ts";
import { json } from "../../formats/json/json.ts";
import type { Exchange } from "../exchange.ts";
import { plainBody } from "./body-writer.ts";

/** Sends the answer to a write. */
export async function sendWritten(body: string, exchange: Exchange): Promise<void> {
  const { response, requestId, vary } = exchange;
  const bytes = Buffer.from(body);
  response.writeHead(200, [
    "Vary",
    vary,
    "Cache-Control",
    "no-store",
    "X-Request-Id",
    requestId,
    "Content-Type",
    json.contentType,
    "Content-Length",
    String(bytes.length),
  ]);
  await plainBody(exchange).end(bytes);
}

/** Tells what was written. Spec 4.4. */
export async function encodeWritten({ rowsAffected, rows }: Written): Promise<string> {
  if (rows === undefined) return `{"rows_affected":${rowsAffected}}`;
  const encoder = json.open(rows.columns, { kind: "write", rowsAffected });
  const pieces: Uint8Array[] = [];
  for (let chunk = await rows.next(); chunk !== undefined; chunk = await rows.next())
    pieces.push(encoder.encode(chunk));
  return Buffer.concat([...pieces, encoder.end()]).toString();
}
