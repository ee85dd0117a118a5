import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Engine } from "../engines/engine.ts";
import { type Lookup, render } from "../sql/render.ts";
import type { Statement } from "../sql/statement.ts";

/** What a call ran, as the log tells it. It is rendered once more when somebody asks: nobody else pays for it. */
export interface RanQuery {
  /** Names of the connections that it used. */
  readonly connections: readonly string[];
  /** Without any value of the call: placeholders stand for them, also where they were rendered as text. */
  sql(): string;
  /** The values, in the order of their placeholders. */
  parameters(): readonly string[];
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
    sql: () =>
      statements((ref) => {
        const value = lookup(ref);
        // The author's own texts choose columns and tables: without them the statement would be another.
        return value === undefined || ref.traits === "enum" ? value : { ...value, text: "", value: "_" };
      })
        .map(({ sql }) => sql.trim())
        .join(";\n"),
    parameters: () => statements(lookup).flatMap(({ values }) => values.map(({ value }) => String(value))),
  };
}
