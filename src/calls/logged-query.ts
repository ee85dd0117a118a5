import { type IsRedacted, REDACTED } from "../audit/redaction.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Engine } from "../engines/engine.ts";
import { type Lookup, render } from "../sql/render.ts";
import type { Statement } from "../sql/statement.ts";
import type { CallValueRef } from "../sql/template.ts";

/** The query of a call, for logs. It is rendered again on demand, so calls that are not logged cost nothing. */
export interface LoggedQuery {
  /** Names of the connections. */
  readonly connections: readonly string[];
  /** Contains placeholders instead of values, even where a value was rendered as text. */
  sql(isRedacted: IsRedacted): string;
  /** The values, in the order of their placeholders. Redacted ones are replaced. */
  parameters(isRedacted: IsRedacted): readonly string[];
  /** Whether the call sets a value, which decides if a section is rendered. */
  isSet(ref: CallValueRef): boolean;
}

export function loggedQuery(
  { template, connections }: Pick<Endpoint, "template" | "connections">,
  lookup: Lookup,
  { dialect }: Pick<Engine, "dialect">,
): LoggedQuery {
  const statements = (values: Lookup): readonly Statement[] =>
    template === undefined ? [] : render(template, values, { dialect, bindsLiterals: true });
  return {
    connections,
    isSet: (ref) => lookup(ref) !== undefined,
    sql: (isRedacted) =>
      statements((ref) => {
        const value = lookup(ref);
        // Enum values select columns and tables, so they are part of the statement.
        if (value === undefined || (ref.valueClass === "enum" && !isHidden(ref, isRedacted))) return value;
        return { ...value, text: "", value: "_" };
      })
        .map(({ sql }) => sql.trim())
        .join(";\n"),
    parameters: (isRedacted) =>
      statements((ref) => {
        const value = lookup(ref);
        return value === undefined || !isHidden(ref, isRedacted)
          ? value
          : { ...value, text: REDACTED, value: REDACTED };
      }).flatMap(({ values }) => values.map(({ value }) => String(value))),
  };
}

function isHidden({ scope, name }: Parameters<Lookup>[0], isRedacted: IsRedacted): boolean {
  return scope === "params" && isRedacted(name);
}
