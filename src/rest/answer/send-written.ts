import type { WriteOutcome } from "../../calls/run-endpoint.ts";
import { json } from "../../formats/json/json.ts";
import { type Exchange, VARY } from "../exchange.ts";
import { plainBody } from "./body-writer.ts";

/** Tells what was written. Spec 4.4. */
export async function sendWritten(outcome: WriteOutcome, exchange: Exchange): Promise<void> {
  const { response, requestId } = exchange;
  const bytes = await bodyOf(outcome);
  response.writeHead(200, [
    "Vary",
    VARY,
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

async function bodyOf({ rowsAffected, rows }: WriteOutcome): Promise<Buffer> {
  if (rows === undefined) return Buffer.from(`{"rows_affected":${rowsAffected}}`);
  const encoder = json.open(rows.columns, { kind: "write", rowsAffected });
  const pieces: Uint8Array[] = [];
  for (let chunk = await rows.next(); chunk !== undefined; chunk = await rows.next())
    pieces.push(encoder.encode(chunk));
  return Buffer.concat([...pieces, encoder.end()]);
}
