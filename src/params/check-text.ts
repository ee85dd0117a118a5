import { MAX_UNSLICED, runAtOnce, type Sliced, waitFor } from "../slices.ts";
import { scanForInjection } from "./injection-scan.ts";
import type { CheckResult, Parameter, ParamValue, Validator } from "./parameter.ts";

/** A valid value, or the message of the first failed rule. */
export type CheckedText =
  | { readonly ok: true; readonly param: ParamValue }
  | { readonly ok: false; readonly message: string };

/** A surrogate without its other half, which no database string can contain. */
const LONE_SURROGATE = /[\ud800-\udfff]/u;

const MALFORMED: CheckedText = { ok: false, message: "Invalid string format" };
const INJECTION: CheckedText = { ok: false, message: "Potential SQL injection detected" };

/** Runs a validator, on this thread or another. */
type Check = (validator: Validator, text: string) => CheckResult | Promise<CheckResult>;
const onThisThread: Check = (validator, text) => validator.check(text);
const onAnotherThread: Check = (validator, text) => validator.checkOnThread?.(text) ?? validator.check(text);

/** Checks a value or a default. Every validator must pass. The first one determines the type. */
export function checkText(parameter: Parameter, text: string): CheckedText {
  return runAtOnce(checkInSlices(parameter, text, onThisThread));
}

/** Like `checkText`, but in slices, for a string that may be long. */
export function checkLongText(parameter: Parameter, text: string): Sliced<CheckedText> {
  return checkInSlices(parameter, text, text.length <= MAX_UNSLICED ? onThisThread : onAnotherThread);
}

function* checkInSlices({ validators }: Parameter, text: string, check: Check): Sliced<CheckedText> {
  if (LONE_SURROGATE.test(text)) return MALFORMED;
  let param = asText(text);
  let isFirst = true;
  for (const validator of validators) {
    let checked = check(validator, text);
    if (checked instanceof Promise) checked = yield* waitFor(checked);
    if (!checked.ok) return checked;
    if (validator.scansForInjection && (yield* scanForInjection(text))) return INJECTION;
    // An enum value may become part of the SQL, so it stays as written in the configuration.
    if (validator.allowedValues !== undefined) param = asText(text);
    else if (isFirst) param = { text, type: validator.databaseType(text), value: checked.value };
    isFirst = false;
  }
  return { ok: true, param };
}

/**
 * For `validate-before-write: false`: a value that has the type of its validator is bound as that type, others as strings.
 * Enums whose values become part of the SQL are still checked.
 */
export function bindText(
  { name, validators }: Parameter,
  text: string,
  enforcedEnums: ReadonlySet<string>,
): CheckedText {
  if (LONE_SURROGATE.test(text)) return MALFORMED;
  const list = validators.find((validator) => validator.allowedValues !== undefined);
  if (list !== undefined && enforcedEnums.has(name)) {
    const checked = list.check(text);
    if (!checked.ok) return checked;
  }
  const type = list === undefined ? (validators[0]?.databaseType(text) ?? "VARCHAR") : "VARCHAR";
  // A string needs no check.
  const checked = type === "VARCHAR" ? undefined : validators[0]?.check(text);
  return { ok: true, param: checked?.ok === true ? { text, type, value: checked.value } : asText(text) };
}

function asText(text: string): ParamValue {
  return { text, type: "VARCHAR", value: text };
}
