import { headerName } from "../params/parameter.ts";

/** Replaces a redacted value. */
export const REDACTED = "[redacted]";

/** Whether the value of a parameter is redacted. */
export type IsRedacted = (name: string) => boolean;

/** `names` come from `audit.redact` and are case-insensitive. `api_token` also matches the header `Api-Token`. */
export function redaction(names: readonly string[]): IsRedacted {
  const keys = new Set(names.map(headerName));
  return keys.size === 0 ? () => false : (name) => keys.has(headerName(name));
}
