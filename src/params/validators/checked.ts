import type { Checked } from "../parameter.ts";

/** The value as it is bound. */
export function valid(value: string | bigint | boolean): Checked {
  return { ok: true, value };
}

/** Called once per message, at load: the result holds nothing of the request. */
export function invalid(message: string): Checked {
  return { ok: false, message };
}
