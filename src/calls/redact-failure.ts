import { parametersOf } from "../audit/audit-line.ts";
import type { IsRedacted } from "../audit/redaction.ts";
import { RequestFailure } from "../failure.ts";
import type { RawParams } from "../params/parameter.ts";

const WITHHELD = "the message is withheld because it may hold a redacted parameter";
/** The start of a database's message, such as `Conversion Error: ...`. */
const ERROR_CLASS = /^[A-Z][A-Za-z]*(?: [A-Z][A-Za-z]*){0,4} Error(?=:)/;

/**
 * Redacts the failure of a call, so that it can be returned and logged. A database may quote values whole, in part or in
 * another form. So its message is withheld if a redacted parameter was sent. A template's message is withheld only if it
 * contains the value.
 */
export function redactFailure(error: unknown, raw: RawParams | undefined, isRedacted: IsRedacted): unknown {
  if (!(error instanceof RequestFailure)) return error;
  const { failure } = error;
  switch (failure.kind) {
    case "query-failed":
    case "constraint-failed": {
      if (redactedValues(raw, isRedacted).length === 0) return error;
      const [name = "Error"] = ERROR_CLASS.exec(failure.message) ?? [];
      const message = `${name}: ${WITHHELD}`;
      return new RequestFailure(
        failure.kind === "query-failed"
          ? { kind: failure.kind, message }
          : { kind: failure.kind, constraint: failure.constraint, message },
      );
    }
    case "refused-by-template": {
      const message = failure.message.toLowerCase();
      const containsValue = redactedValues(raw, isRedacted).some((text) => message.includes(text.toLowerCase()));
      return containsValue ? new RequestFailure({ ...failure, message: WITHHELD }) : error;
    }
    default:
      return error;
  }
}

function redactedValues(raw: RawParams | undefined, isRedacted: IsRedacted): readonly string[] {
  return [...parametersOf(raw)].flatMap(([name, text]) => {
    const value = text.trim();
    return isRedacted(name) && value !== "" ? value : [];
  });
}
