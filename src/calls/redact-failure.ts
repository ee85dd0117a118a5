import { parametersOf } from "../audit/audit-line.ts";
import type { IsRedacted } from "../audit/redaction.ts";
import { RequestFailure } from "../failure.ts";
import type { RawParams } from "../params/parameter.ts";

const WHY = "the message is withheld because it may hold a redacted parameter";
/** The start of a database's message, such as `Conversion Error: ...`. */
const CLASS = /^[A-Z][A-Za-z]*(?: [A-Z][A-Za-z]*){0,4} Error(?=:)/;

/**
 * The failure of a call, as it may be returned and logged. A database may quote values whole, in part or in another form. So
 * its message is withheld if a redacted parameter was sent. A template's message is withheld only if it contains the value.
 */
export function redactFailure(error: unknown, raw: RawParams | undefined, isRedacted: IsRedacted): unknown {
  if (!(error instanceof RequestFailure)) return error;
  const { failure } = error;
  switch (failure.kind) {
    case "query-failed":
    case "constraint-failed": {
      if (redactedValues(raw, isRedacted).length === 0) return error;
      const [name = "Error"] = CLASS.exec(failure.message) ?? [];
      const message = `${name}: ${WHY}`;
      return new RequestFailure(
        failure.kind === "query-failed"
          ? { kind: failure.kind, message }
          : { kind: failure.kind, constraint: failure.constraint, message },
      );
    }
    case "refused-by-template": {
      const message = failure.message.toLowerCase();
      const quotes = redactedValues(raw, isRedacted).some((text) => message.includes(text.toLowerCase()));
      return quotes ? new RequestFailure({ ...failure, message: WHY }) : error;
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
