import type { Problem } from "../config/problem.ts";
import { locationOf, type SourceFile } from "../config/tree.ts";
import type { Engine } from "../engines/engine.ts";
import { type Lookup, render } from "../sql/render.ts";
import type { Statement } from "../sql/statement.ts";
import type { Template } from "../sql/template.ts";
import type { Endpoint } from "./endpoint.ts";

/** Whether templates are planned against the tables, or only parsed. */
export type Depth = "plan" | "parse";

/** The input of a check of a template at load time. */
export interface TemplateCheck {
  readonly endpoint: Endpoint;
  readonly template: Template;
  readonly source: SourceFile;
  readonly engine: Engine;
  readonly depth: Depth;
}

/** The statements for a sample, with their positions in the template. */
export interface RenderedSample {
  readonly statements: readonly Statement[];
  /** The offset in the template for a position in a statement. */
  origin(statement: number, at: number): number;
}

export function renderSample({ engine, template }: TemplateCheck, lookup: Lookup): RenderedSample {
  const traces: { statement: number; at: number; offset: number }[] = [];
  const statements = render(template, lookup, {
    dialect: engine.dialect,
    trace: (statement, at, offset) => traces.push({ statement, at, offset }),
  });
  return {
    statements,
    origin(statement, at) {
      const piece = traces.findLast((trace) => trace.statement === statement && trace.at <= at);
      return piece === undefined ? 0 : piece.offset + (at - piece.at);
    },
  };
}

/** The first offset from `offset` on that is not white space. */
export function skipSpace(text: string, offset: number): number {
  return offset + (/^\s*/.exec(text.slice(offset))?.[0].length ?? 0);
}

export function problemAt(
  source: TemplateCheck["source"],
  offset: number,
  { severity, message }: Pick<Problem, "severity" | "message">,
): Problem {
  return {
    severity,
    location: locationOf({ source, offset: Math.min(offset, source.text.length) }),
    path: "",
    message,
  };
}
