import { type IsRedacted, REDACTED } from "../audit/redaction.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Engine } from "../engines/engine.ts";
import { type Lookup, render } from "../sql/render.ts";
import type { Statement } from "../sql/statement.ts";

/** What a call ran, as the log tells it. It is rendered once more when somebody asks: nobody else pays for it. */
export interface RanQuery {
  /** Names of the connections that it used. */
  readonly connections: readonly string[];
  /** Without any value of the call: placeholders stand for them, also where they were rendered as text. */
  sql(isRedacted: IsRedacted): string;
  /** The values, in the order of their placeholders; a mark stands for those that are redacted. */
  parameters(isRedacted: IsRedacted): readonly string[];
}

export function ranQuery(
  { template, connections }: Pick<Endpoint, "template" | "connections">,
  lookup: Lookup,
  { dialect }: Pick<Engine, "dialect">,
): RanQuery {
  const statements = (values: Lookup): readonly Statement[] =>
    template === undefined ? [] : render(template, values, { dialect, inline: false });
  return {
    connections,
    sql: (isRedacted) =>
      statements((ref) => {
        const value = lookup(ref);
        // The author's own texts choose columns and tables: without them the statement would be another.
        if (value === undefined || (ref.traits === "enum" && !isHidden(ref, isRedacted))) return value;
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
