import type { FieldError } from "../failure.ts";
import { MAX_UNSLICED, runInSlices, type Sliced } from "../slices.ts";
import { bindText, type CheckedText, checkLongText, checkText } from "./check-text.ts";
import { isPageField, type Page, type PageField, type PageRules, pageFields, pageProblem, readPage } from "./page.ts";
import {
  headerName,
  locations,
  type Parameter,
  type Params,
  type ParamValue,
  type RawParams,
  type RawValue,
} from "./parameter.ts";

/** The rules of an endpoint that apply to all its parameters. */
export interface ParamRules {
  /** Set for `request-fields-validation: true`. MCP rejects unknown arguments itself: see `earlierErrors`. */
  readonly rejectsUnknown: boolean;
  /** Set for `validate-before-write: false`: of all validators, only the enums of these parameters are enforced. */
  readonly enforcedEnums: ReadonlySet<string> | undefined;
  /** Undefined for a write, which has no pages. An undeclared `limit` or `offset` is then ignored. */
  readonly page: PageRules | undefined;
  /** Errors found before validation: an invalid `format`, or unknown arguments of an MCP call. */
  readonly earlierErrors?: readonly FieldError[];
  /** The results for parameters that are already checked. */
  readonly checked?: ReadonlyMap<Parameter, CheckedText>;
}

export type ValidationResult =
  | { readonly ok: true; readonly params: Params; readonly page: Page }
  | { readonly ok: false; readonly errors: readonly FieldError[] };

const ALL_ROWS: Page = { limit: undefined, offset: 0 };
const MISSING: CheckedText = { ok: false, message: "Required field is missing" };
const WRONG_KIND: CheckedText = { ok: false, message: "Invalid string format" };
export const UNKNOWN_PARAMETER = "Unknown parameter not defined in endpoint configuration";

/** Query parameters that need no declaration. */
const ALWAYS_ALLOWED: ReadonlySet<string> = new Set([...pageFields, "format"]);

/**
 * Returns typed values, or all errors: declared parameters in their order, undeclared `limit` and `offset`, earlier errors,
 * then unknown parameters.
 */
export function validateParams(declared: readonly Parameter[], raw: RawParams, rules: ParamRules): ValidationResult {
  const params = new Map<string, ParamValue>();
  const errors: FieldError[] = [];
  for (const parameter of declared) {
    const checked = checkParameter(parameter, raw, rules);
    if (checked === undefined) continue;
    if (checked.ok) params.set(parameter.name, checked.param);
    else errors.push({ field: parameter.name, message: checked.message });
  }
  let page = ALL_ROWS;
  if (rules.page !== undefined) {
    const limit = undeclaredText("limit", declared, raw);
    const offset = undeclaredText("offset", declared, raw);
    if (limit !== undefined) addPageProblem(errors, pageProblem("limit", limit, rules.page), "limit");
    if (offset !== undefined) addPageProblem(errors, pageProblem("offset", offset, rules.page), "offset");
    page = readPage(limit ?? params.get("limit")?.text, offset ?? params.get("offset")?.text, rules.page);
  }
  for (const found of rules.earlierErrors ?? [])
    if (!errors.some(({ field }) => field === found.field)) errors.push(found);
  if (rules.rejectsUnknown) addUnknown(errors, declared, raw);
  return errors.length > 0 ? { ok: false, errors } : { ok: true, params, page };
}

/** Whether the values are so long that they must be validated in slices. */
export function isLong(raw: RawParams): boolean {
  let length = 0;
  for (const location of locations) {
    for (const { text } of raw[location].values()) {
      length += text.length;
      if (length > MAX_UNSLICED) return true;
    }
  }
  return false;
}

/** Like `validateParams`, but runs the validators in slices, so that long values do not block other requests. */
export async function validateLong(
  declared: readonly Parameter[],
  raw: RawParams,
  rules: ParamRules,
): Promise<ValidationResult> {
  const skipsValidators = rules.enforcedEnums !== undefined;
  const checked = skipsValidators ? undefined : await runInSlices(checkAllInSlices(declared, raw));
  return validateParams(declared, raw, checked === undefined ? rules : { ...rules, checked });
}

function* checkAllInSlices(
  declared: readonly Parameter[],
  raw: RawParams,
): Sliced<ReadonlyMap<Parameter, CheckedText>> {
  const checked = new Map<Parameter, CheckedText>();
  for (const parameter of declared) {
    const sent = sentValue(parameter, raw);
    if (sent !== undefined) checked.set(parameter, yield* checkLongText(parameter, sent.text));
    yield;
  }
  return checked;
}

/** Undefined if an optional parameter is not set. */
function checkParameter(parameter: Parameter, raw: RawParams, rules: ParamRules): CheckedText | undefined {
  const sent = sentValue(parameter, raw);
  if (sent?.kind === "json" && parameter.in !== "body") return WRONG_KIND;
  const text = sent?.text ?? parameter.default;
  if (text === undefined) return parameter.required ? MISSING : undefined;
  const { enforcedEnums } = rules;
  const checked =
    rules.checked?.get(parameter) ??
    (enforcedEnums === undefined ? checkText(parameter, text) : bindText(parameter, text, enforcedEnums));
  if (!checked.ok || rules.page === undefined || !isPageField(parameter.name)) return checked;
  const message = pageProblem(parameter.name, text, rules.page);
  return message === undefined ? checked : { ok: false, message };
}

function sentValue({ name, in: location }: Parameter, raw: RawParams): RawValue | undefined {
  return raw[location].get(location === "header" ? headerName(name) : name);
}

/** The query parameter of a page field. Undefined if the endpoint declares this field in any location. */
function undeclaredText(field: PageField, declared: readonly Parameter[], raw: RawParams): string | undefined {
  const sent = raw.query.get(field);
  return sent === undefined || declared.some(({ name }) => name === field) ? undefined : sent.text;
}

function addPageProblem(errors: FieldError[], message: string | undefined, field: PageField): void {
  if (message !== undefined) errors.push({ field, message });
}

/** Headers and path segments are never unknown, because clients do not choose all of them. */
function addUnknown(errors: FieldError[], declared: readonly Parameter[], raw: RawParams): void {
  const wrong = new Set(errors.map(({ field }) => field));
  for (const location of ["query", "body"] as const) {
    if (raw[location].size === 0) continue;
    const known = new Set(declared.filter((parameter) => parameter.in === location).map(({ name }) => name));
    for (const field of raw[location].keys()) {
      if (known.has(field) || wrong.has(field)) continue;
      if (location === "query" && ALWAYS_ALLOWED.has(field)) continue;
      wrong.add(field);
      errors.push({ field, message: UNKNOWN_PARAMETER });
    }
  }
}
