import { type IsRedacted, REDACTED } from "../audit/redaction.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Engine } from "../engines/engine.ts";
import { type Lookup, render } from "../sql/render.ts";
import type { Statement } from "../sql/statement.ts";
import type { CallValueRef } from "../sql/template.ts";

/** A statement with placeholders, and the values in their order. */
export interface LoggedStatement {
  readonly sql: string;
  readonly parameters: readonly string[];
}

/** The query of a call, for logs. It is rendered again on demand, so calls that are not logged cost nothing. */
export interface LoggedQuery {
  /** Names of the connections. */
  readonly connections: readonly string[];
  /** Contains placeholders instead of values, even where a value was rendered as text. */
  sql(isRedacted: IsRedacted): string;
  /** The values, in the order of their placeholders. Redacted ones are replaced. */
  parameters(isRedacted: IsRedacted): readonly string[];
  /** Both, for each statement. */
  statements(isRedacted: IsRedacted): readonly LoggedStatement[];
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
  const texts = (isRedacted: IsRedacted): readonly string[] =>
    statements((ref) => {
      const value = lookup(ref);
      // Enum values select columns and tables, so they are part of the statement.
      if (value === undefined || (ref.valueClass === "enum" && !isHidden(ref, isRedacted))) return value;
      return { ...value, text: "", value: "_" };
    }).map(({ sql }) => sql.trim());
  const parameters = (isRedacted: IsRedacted): readonly (readonly string[])[] =>
    statements((ref) => {
      const value = lookup(ref);
      return value === undefined || !isHidden(ref, isRedacted) ? value : { ...value, text: REDACTED, value: REDACTED };
    }).map(({ values }) => values.map(({ value }) => String(value)));
  return {
    connections,
    sql: (isRedacted) => texts(isRedacted).join(";\n"),
    parameters: (isRedacted) => parameters(isRedacted).flat(),
    statements(isRedacted) {
      const values = parameters(isRedacted);
      return texts(isRedacted).map((sql, index) => ({ sql, parameters: values[index] ?? [] }));
    },
    isSet: (ref) => lookup(ref) !== undefined,
  };
}

function isHidden({ scope, name }: Parameters<Lookup>[0], isRedacted: IsRedacted): boolean {
  return scope === "params" && isRedacted(name);
}
