import { atOnce, SHORT, type Sliced, waitFor } from "../slices.ts";
import { scanForInjection } from "./injection-scan.ts";
import type { Checked, Parameter, ParamValue, Validator } from "./parameter.ts";

/** A value that passed, or the first rule that it broke. */
export type CheckedText =
  | { readonly ok: true; readonly param: ParamValue }
  | { readonly ok: false; readonly message: string };

/** A surrogate without its other half: no database text can hold it. */
const LONE_SURROGATE = /[\ud800-\udfff]/u;

const MALFORMED: CheckedText = { ok: false, message: "Invalid string format" };
const INJECTION: CheckedText = { ok: false, message: "Potential SQL injection detected" };

/** How a validator is run. */
type Check = (validator: Validator, text: string) => Checked | Promise<Checked>;
const here: Check = (validator, text) => validator.check(text);
const elsewhere: Check = (validator, text) => validator.checkElsewhere?.(text) ?? validator.check(text);

/** What a parameter makes of a text, a default included: every validator must pass, the first one gives the type. */
export function checkText(parameter: Parameter, text: string): CheckedText {
  return atOnce(checking(parameter, text, here));
}

/** The same for a text that may be long. */
export function checkLongText(parameter: Parameter, text: string): Sliced<CheckedText> {
  return checking(parameter, text, text.length <= SHORT ? here : elsewhere);
}

function* checking({ validators }: Parameter, text: string, check: Check): Sliced<CheckedText> {
  if (LONE_SURROGATE.test(text)) return MALFORMED;
  let param = asText(text);
  let isFirst = true;
  for (const validator of validators) {
    let checked = check(validator, text);
    if (checked instanceof Promise) checked = yield* waitFor(checked);
    if (!checked.ok) return checked;
    if (validator.scansForInjection && (yield* scanForInjection(text))) return INJECTION;
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
  if (list !== undefined && listsRelied.has(name)) {
    const checked = list.check(text);
    if (!checked.ok) return checked;
  }
  const type = list === undefined ? (validators[0]?.databaseType(text) ?? "VARCHAR") : "VARCHAR";
  // What is bound as text fits, whatever its validator would say.
  const checked = type === "VARCHAR" ? undefined : validators[0]?.check(text);
  return { ok: true, param: checked?.ok === true ? { text, type, value: checked.value } : asText(text) };
}

function asText(text: string): ParamValue {
  return { text, type: "VARCHAR", value: text };
}
