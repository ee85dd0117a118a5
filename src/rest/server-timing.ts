import { eachPhase } from "../calls/call-marks.ts";
import type { ObservedCall } from "../calls/observed-call.ts";
import type { RestContext } from "./context.ts";
import type { HttpExchange } from "./exchange.ts";

/** Adds the durations of the phases that are over when the headers are written, where the project asks for it. */
export function setServerTiming(
  { startedAt, marks }: ObservedCall,
  { response }: HttpExchange,
  { sendsServerTiming }: RestContext,
): void {
  if (!sendsServerTiming || marks === undefined || response.headersSent) return;
  const times: string[] = [];
  const now = performance.now();
  eachPhase({ startedAt, marks }, now, (phase, from, to) => {
    // The body is still to come.
    if (phase !== "stream") times.push(`${phase};dur=${(to - from).toFixed(1)}`);
  });
  response.setHeader("Server-Timing", [...times, `total;dur=${(now - startedAt).toFixed(1)}`].join(", "));
}
