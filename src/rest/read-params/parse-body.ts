import { isUtf8 } from "node:buffer";
import type { RawValue } from "../../params/parameter.ts";
import { scanObject } from "../../params/scan-object.ts";
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

/** The members of a JSON object, numbers with the digits in which they were sent. No body counts as `{}`. decisions.md 3. */
export function parseBody(bytes: Buffer): ReadValues {
  if (bytes.length === 0) return EMPTY;
  if (!isUtf8(bytes)) return NOT_JSON;
  const text = withoutByteOrderMark(bytes.toString("utf8"));
  const parsed = parseJson(text);
  if (parsed === undefined) return NOT_JSON;
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return NOT_AN_OBJECT;
  // The parser has lost the digits of the numbers, so the text is read a second time; it is known to be JSON by now.
  const values = new Map<string, RawValue>();
  scanObject(text, values);
  return { values, errors: NO_ERRORS };
}

/** JSON knows no `undefined`, so it can stand for text that is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function withoutByteOrderMark(text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}
