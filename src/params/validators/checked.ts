import type { CheckResult } from "../parameter.ts";

/** `value` is the value to bind. */
export function valid(value: string | bigint | boolean): CheckResult {
  return { ok: true, value };
}

/** Called once per message, at load time, so a message never contains data from a request. */
export function invalid(message: string): CheckResult {
  return { ok: false, message };
}
