import type { Audit } from "../audit/audit.ts";
import { callerOf, parametersOf } from "../audit/audit-line.ts";
import type { CallObserver } from "./observed-call.ts";

/** Records every call in the audit. */
export function auditObserver(audit: Audit): CallObserver {
  return {
    needsParameters: true,
    onEnd({ time, requestId, surface, endpoint, identity, address, raw, rows }, { status, durationMs }) {
      audit.record({
        time: time(),
        requestId,
        surface,
        endpoint,
        identity: callerOf(identity),
        address: address(),
        parameters: parametersOf(raw),
        rows,
        durationMs,
        status,
      });
    },
  };
}
