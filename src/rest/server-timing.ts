import { eachPhase } from "../calls/call-marks.ts";
import type { ObservedCall } from "../calls/observed-call.ts";
import type { RestContext } from "./context.ts";
import type { HttpExchange } from "./exchange.ts";

/** Adds the durations of the phases so far, if the project enables `Server-Timing`. */
export function setServerTiming(
  { startedAt, marks }: ObservedCall,
  { response }: HttpExchange,
  { sendsServerTiming }: RestContext,
): void {
  if (!sendsServerTiming || marks === undefined || response.headersSent) return;
  const times: string[] = [];
  const now = performance.now();
  eachPhase({ startedAt, marks }, now, (phase, from, to) => {
    // The body has not been sent yet.
    if (phase !== "stream") times.push(`${phase};dur=${(to - from).toFixed(1)}`);
  });
  response.setHeader("Server-Timing", [...times, `total;dur=${(now - startedAt).toFixed(1)}`].join(", "));
}
