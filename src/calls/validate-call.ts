import type { Limits } from "../config/project.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import { RequestFailure } from "../failure.ts";
import type { Page } from "../params/page.ts";
import type { Params } from "../params/parameter.ts";
import {
  isLong,
  type ParamRules,
  type ValidationResult,
  validateLong,
  validateParams,
} from "../params/validate-params.ts";
import type { Call } from "./call.ts";

/** Validates the parameters of a call. Returns a promise only if they are long. */
export function validateCall(endpoint: Endpoint, call: Call, limits: Limits): ValidCall | Promise<ValidCall> {
  const { parameters, rejectsUnknownParams, operation, template } = endpoint;
  const { raw } = call;
  const rules: ParamRules = {
    rejectsUnknown: rejectsUnknownParams,
    enforcedEnums:
      operation.kind === "write" && !operation.validateBeforeWrite ? (template?.enforcedEnums ?? new Set()) : undefined,
    page: operation.kind === "read" ? { ...limits, paginated: operation.paginated } : undefined,
    earlierErrors: call.errors,
  };
  if (!isLong(raw)) return requireValid(validateParams(parameters, raw, rules), call);
  return validateLong(parameters, raw, rules).then((checked) => requireValid(checked, call));
}

interface ValidCall {
  readonly params: Params;
  readonly page: Page;
}

function requireValid(checked: ValidationResult, { observed: { marks } }: Call): ValidCall {
  if (!checked.ok) throw new RequestFailure({ kind: "invalid-params", errors: checked.errors });
  if (marks !== undefined) marks.validated = performance.now();
  return checked;
}
