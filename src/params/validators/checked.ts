import type { Checked } from "../parameter.ts";

/** `value` is the value to bind. */
export function valid(value: string | bigint | boolean): Checked {
  return { ok: true, value };
}

/** Called once per message, at load time. So the result contains nothing of a request. */
export function invalid(message: string): Checked {
  return { ok: false, message };
}
