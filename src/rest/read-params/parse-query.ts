import type { FieldError } from "../../failure.ts";
import type { RawValue } from "../../params/parameter.ts";
import { decodePercent } from "./percent.ts";
import { asText, badEncoding, NO_ERRORS, NO_VALUES, type ReadValues } from "./read-values.ts";

/** Parses a raw query string, without its question mark. The first of repeated names wins. */
export function parseQuery(query: string): ReadValues {
  if (query === "") return { values: NO_VALUES, errors: NO_ERRORS };
  const values = new Map<string, RawValue>();
  const errors: FieldError[] = [];
  for (const pair of query.split("&")) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const rawName = equals === -1 ? pair : pair.slice(0, equals);
    const name = decodeQueryPart(rawName);
    if (name === undefined) {
      errors.push(badEncoding(rawName));
      continue;
    }
    if (values.has(name)) continue;
    const text = equals === -1 ? "" : decodeQueryPart(pair.slice(equals + 1));
    // An invalid value is stored too, so that a second value of the same name cannot replace it.
    values.set(name, asText(text ?? ""));
    if (text === undefined) errors.push(badEncoding(name));
  }
  return { values, errors };
}

/** Decodes a name or a value. In a query, `+` is a space. */
export function decodeQueryPart(part: string): string | undefined {
  return decodePercent(part.includes("+") ? part.replaceAll("+", " ") : part);
}
