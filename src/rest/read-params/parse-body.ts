import { decodeUtf8 } from "../../http/decode-utf8.ts";
import type { RawValue } from "../../params/parameter.ts";
import { readMembers } from "../../params/read-members.ts";
import { MAX_UNSLICED, type Sliced } from "../../slices.ts";
import { NO_ERRORS, NO_VALUES, type ReadValues } from "./read-values.ts";

const NOT_JSON: ReadValues = {
  values: NO_VALUES,
  errors: [{ field: "body", message: "Request body is not valid JSON" }],
};
const NOT_AN_OBJECT: ReadValues = {
  values: NO_VALUES,
  errors: [{ field: "body", message: "Request body must be a JSON object" }],
};
const EMPTY: ReadValues = { values: NO_VALUES, errors: NO_ERRORS };

/** Undeclared members of a long body beyond this number appear neither in errors nor in the audit. */
const MAX_UNDECLARED = 1_000;

/**
 * The members of a JSON object; numbers keep the digits as sent. No body counts as `{}`. For a long body, returns
 * only the `declared` members and some others.
 */
export function* parseBody(bytes: Buffer, declared: () => readonly string[]): Sliced<ReadValues> {
  if (bytes.length === 0) return EMPTY;
  const text = yield* decodeUtf8(bytes);
  if (text === undefined) return NOT_JSON;
  const values = new Map<string, RawValue>();
  const limits = bytes.length <= MAX_UNSLICED ? undefined : { wanted: new Set(declared()), maxOthers: MAX_UNDECLARED };
  const kind = yield* readMembers(withoutByteOrderMark(text), values, limits);
  if (kind === undefined) return NOT_JSON;
  return kind === "object" ? { values, errors: NO_ERRORS } : NOT_AN_OBJECT;
}

function withoutByteOrderMark(text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}
