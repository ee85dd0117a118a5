import { looksLikeInjection } from "./injection-scan.ts";
import type { Parameter, ParamValue } from "./parameter.ts";

/** A value that passed, or the first rule that it broke. */
export type CheckedText =
  | { readonly ok: true; readonly param: ParamValue }
  | { readonly ok: false; readonly message: string };

/** A surrogate without its other half: no database text can hold it. */
const LONE_SURROGATE = /[\ud800-\udfff]/u;

const MALFORMED: CheckedText = { ok: false, message: "Invalid string format" };
const INJECTION: CheckedText = { ok: false, message: "Potential SQL injection detected" };

/** What a parameter makes of a text, a default included: every validator must pass, the first one gives the type. Spec 2.3. */
export function checkText({ validators }: Parameter, text: string): CheckedText {
  if (LONE_SURROGATE.test(text)) return MALFORMED;
  let param = asText(text);
  let isFirst = true;
  for (const validator of validators) {
    const checked = validator.check(text);
    if (!checked.ok) return checked;
    if (validator.scansForInjection && looksLikeInjection(text)) return INJECTION;
    // What is on the author's list may become part of the SQL, so it stays as the author wrote it.
    if (validator.allowedValues !== undefined) param = asText(text);
    else if (isFirst) param = { text, type: validator.databaseType(text), value: checked.value };
    isFirst = false;
  }
  return { ok: true, param };
}

/**
 * The same for a write that does not want its validators (`validate-before-write: false`): a value that fits its type
 * is bound in it, any other as text. A fixed list whose values become part of the SQL holds all the same.
 */
export function bindText({ name, validators }: Parameter, text: string, listsRelied: ReadonlySet<string>): CheckedText {
  if (LONE_SURROGATE.test(text)) return MALFORMED;
  const list = validators.find((validator) => validator.allowedValues !== undefined);
  const checked = (list ?? validators[0])?.check(text);
  if (list !== undefined && checked?.ok === false && listsRelied.has(name)) return checked;
  if (list !== undefined || checked?.ok !== true) return { ok: true, param: asText(text) };
  return { ok: true, param: { text, type: validators[0]?.databaseType(text) ?? "VARCHAR", value: checked.value } };
}

function asText(text: string): ParamValue {
  return { text, type: "VARCHAR", value: text };
}
