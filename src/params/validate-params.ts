import type { FieldError } from "../failure.ts";
import { inSlices, SHORT, type Sliced } from "../slices.ts";
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

/** Rules of an endpoint for its parameters, beyond their own. */
export interface ParamRules {
  /** `request-fields-validation: true`, and every MCP tool. */
  readonly rejectsUnknown: boolean;
  /** `validate-before-write: false`: only the fixed lists of these parameters hold. */
  readonly skipValidatorsBut: ReadonlySet<string> | undefined;
  /** Absent for a write: there `limit` and `offset` are names like any other. */
  readonly page: PageRules | undefined;
  /** Errors that were found before, in fields that need no declaration (`format`). */
  readonly found?: readonly FieldError[];
  /** Parameters that have been checked already. */
  readonly checked?: ReadonlyMap<Parameter, CheckedText>;
}

export type Validated =
  | { readonly ok: true; readonly params: Params; readonly page: Page }
  | { readonly ok: false; readonly errors: readonly FieldError[] };

const ALL_ROWS: Page = { limit: undefined, offset: 0 };
const MISSING: CheckedText = { ok: false, message: "Required field is missing" };
const WRONG_KIND: CheckedText = { ok: false, message: "Invalid string format" };
export const UNKNOWN_PARAMETER = "Unknown parameter not defined in endpoint configuration";

/** Query parameters that need no declaration. */
const ALWAYS_ALLOWED: ReadonlySet<string> = new Set([...pageFields, "format"]);

/**
 * Raw input to typed values, or every field that is wrong: declared ones in their order, then `limit` and `offset`
 * where they are not declared, then what was found before, then names that are not declared.
 */
export function validateParams(declared: readonly Parameter[], raw: RawParams, rules: ParamRules): Validated {
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
  for (const found of rules.found ?? []) if (!errors.some(({ field }) => field === found.field)) errors.push(found);
  if (rules.rejectsUnknown) addUnknown(errors, declared, raw);
  return errors.length > 0 ? { ok: false, errors } : { ok: true, params, page };
}

/** Whether a request holds so much that it is validated in slices. */
export function isLong(raw: RawParams): boolean {
  let length = 0;
  for (const location of locations) {
    for (const { text } of raw[location].values()) {
      length += text.length;
      if (length > SHORT) return true;
    }
  }
  return false;
}

/** The same as `validateParams`, in slices. */
export async function validateLong(
  declared: readonly Parameter[],
  raw: RawParams,
  rules: ParamRules,
): Promise<Validated> {
  const skipsValidators = rules.skipValidatorsBut !== undefined;
  const checked = skipsValidators ? undefined : await inSlices(checkingAll(declared, raw));
  return validateParams(declared, raw, checked === undefined ? rules : { ...rules, checked });
}

function* checkingAll(declared: readonly Parameter[], raw: RawParams): Sliced<ReadonlyMap<Parameter, CheckedText>> {
  const checked = new Map<Parameter, CheckedText>();
  for (const parameter of declared) {
    const sent = sentValue(parameter, raw);
    if (sent !== undefined) checked.set(parameter, yield* checkLongText(parameter, sent.text));
    yield;
  }
  return checked;
}

/** Undefined when the parameter is not set and need not be. */
function checkParameter(parameter: Parameter, raw: RawParams, rules: ParamRules): CheckedText | undefined {
  const sent = sentValue(parameter, raw);
  if (sent?.kind === "json" && parameter.in !== "body") return WRONG_KIND;
  const text = sent?.text ?? parameter.default;
  if (text === undefined) return parameter.required ? MISSING : undefined;
  const { skipValidatorsBut } = rules;
  const checked =
    rules.checked?.get(parameter) ??
    (skipValidatorsBut === undefined ? checkText(parameter, text) : bindText(parameter, text, skipValidatorsBut));
  if (!checked.ok || rules.page === undefined || !isPageField(parameter.name)) return checked;
  const message = pageProblem(parameter.name, text, rules.page);
  return message === undefined ? checked : { ok: false, message };
}

function sentValue({ name, in: location }: Parameter, raw: RawParams): RawValue | undefined {
  return raw[location].get(location === "header" ? headerName(name) : name);
}

/** What the query says for a page field that the endpoint does not declare, wherever it would stand. */
function undeclaredText(field: PageField, declared: readonly Parameter[], raw: RawParams): string | undefined {
  const sent = raw.query.get(field);
  return sent === undefined || declared.some(({ name }) => name === field) ? undefined : sent.text;
}

function addPageProblem(errors: FieldError[], message: string | undefined, field: PageField): void {
  if (message !== undefined) errors.push({ field, message });
}

/** Headers and path segments are never unknown: a client does not choose them one by one. */
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
