import type { FieldError } from "../../failure.ts";
import type { RawValue } from "../../params/parameter.ts";
import { decodePercent } from "./percent.ts";
import { asText, badEncoding, NO_ERRORS, NO_VALUES, type ReadValues } from "./read-values.ts";

/** Path parameters from the raw segments that the router matched, by name. In a path, `+` is a plus sign. */
export function parsePath(segments: Iterable<readonly [name: string, segment: string]>): ReadValues {
  let values: Map<string, RawValue> | undefined;
  let errors: FieldError[] | undefined;
  for (const [name, segment] of segments) {
    const text = decodePercent(segment);
    if (text === undefined) {
      errors ??= [];
      errors.push(badEncoding(name));
      continue;
    }
    values ??= new Map();
    values.set(name, asText(text));
  }
  return { values: values ?? NO_VALUES, errors: errors ?? NO_ERRORS };
}
