import { headerName } from "../params/parameter.ts";

/** Stands where a redacted value was. */
export const REDACTED = "[redacted]";

/** Whether the value of a parameter is written nowhere. */
export type IsRedacted = (name: string) => boolean;

/** By the names in `audit.redact`, in any case; `api_token` also means the header `Api-Token`. */
export function redaction(names: readonly string[]): IsRedacted {
  const keys = new Set(names.map(headerName));
  return keys.size === 0 ? () => false : (name) => keys.has(headerName(name));
}
