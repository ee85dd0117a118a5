import type { Audit } from "../audit/audit.ts";
import { auditIdentity, parametersOf } from "../audit/audit-line.ts";
import type { CallObserver } from "./observed-call.ts";

/** Records every REST and MCP call in the audit log. */
export function auditObserver(audit: Audit): CallObserver {
  return {
    needsParameters: true,
    onEnd({ time, requestId, surface, endpoint, identity, address, raw, rows }, { status, durationMs }) {
      audit.record({
        time: time(),
        requestId,
        surface,
        endpoint,
        identity: auditIdentity(identity),
        address: address(),
        parameters: parametersOf(raw),
        rows,
        durationMs,
        status,
      });
    },
  };
}
