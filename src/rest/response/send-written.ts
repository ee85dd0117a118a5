import { json } from "../../formats/json/json.ts";
import type { EndpointExchange } from "../exchange.ts";
import { plainBody } from "./body-writer.ts";

/** Sends the answer to a write. */
export async function sendWritten(body: string, exchange: EndpointExchange): Promise<void> {
  const { response, requestId, caching } = exchange;
  const bytes = Buffer.from(body);
  response.writeHead(200, [
    "Vary",
    caching.vary,
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
