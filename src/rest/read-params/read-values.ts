import type { FieldError } from "../../failure.ts";
import type { RawValue } from "../../params/parameter.ts";

/** The values of one part of a request. With errors, the part is malformed and the values are incomplete. */
export interface ReadValues {
  readonly values: ReadonlyMap<string, RawValue>;
  readonly errors: readonly FieldError[];
}

/** The values of an absent part. */
export const NO_VALUES: ReadonlyMap<string, RawValue> = new Map();

export const NO_ERRORS: readonly FieldError[] = [];

export function badEncoding(field: string): FieldError {
  return { field, message: "Invalid percent-encoding" };
}

export function asText(text: string): RawValue {
  return { kind: "text", text };
}
