import type { FieldError } from "../../failure.ts";
import type { RawValue } from "../../params/parameter.ts";

/** What one part of a request carries. Errors are about the part's form; the values are only good without any. */
export interface ReadValues {
  readonly values: ReadonlyMap<string, RawValue>;
  readonly errors: readonly FieldError[];
}

/** For a part that is not there. */
export const NO_VALUES: ReadonlyMap<string, RawValue> = new Map();

export const NO_ERRORS: readonly FieldError[] = [];

export function badEncoding(field: string): FieldError {
  return { field, message: "Invalid percent-encoding" };
}

export function asText(text: string): RawValue {
  return { kind: "text", text };
}
