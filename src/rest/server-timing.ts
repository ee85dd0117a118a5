import { eachPhase } from "../calls/call-marks.ts";
import type { ObservedCall } from "../calls/observed-call.ts";
import type { EndpointExchange } from "./exchange.ts";
import type { RestContext } from "./rest-app.ts";

/** Tells how long the phases took that are over when the head is written, where that is told. */
export function setServerTiming(
  observed: ObservedCall | undefined,
  { response }: Pick<EndpointExchange, "response">,
  { watch }: Pick<RestContext, "watch">,
): void {
  if (!watch.tellsTimes || observed?.marks === undefined || response.headersSent) return;
  const { startedAt, marks } = observed;
  const times: string[] = [];
  const now = performance.now();
  eachPhase({ startedAt, marks }, now, (phase, from, to) => {
    // The body is still to come.
    if (phase !== "stream") times.push(`${phase};dur=${(to - from).toFixed(1)}`);
  });
  response.setHeader("Server-Timing", [...times, `total;dur=${(now - startedAt).toFixed(1)}`].join(", "));
}
