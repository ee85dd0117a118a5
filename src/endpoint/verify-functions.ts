import type { Problem } from "../config/problem.ts";
import type { Engine } from "../engines/engine.ts";
import { compileTemplate } from "../sql/compile-template.ts";
import type { Dialect } from "../sql/dialect.ts";
import { dialectWith, type MadeFunctions, macrosMadeBy } from "../sql/made-functions.ts";
import type { TemplateProblem } from "../sql/template.ts";
import { templateProblems } from "./compile-endpoint.ts";
import type { Endpoint } from "./endpoint.ts";

/**
 * The dialect in which these endpoints are compiled once their connections are open: with the macros that the database holds, and
 * those that their templates make.
 */
export async function dialectOf(endpoints: readonly Endpoint[], engine: Engine): Promise<Dialect> {
  const called = new Set(endpoints.flatMap(({ template }) => [...(template?.functionsAround ?? [])]));
  // A template without values in functions and variables has nothing that a function could be given.
  const found: MadeFunctions = called.size === 0 ? { made: [], unknown: [] } : await engine.madeFunctions(called);
  return dialectWith(engine.dialect, {
    ...found,
    made: [...found.made, ...madeByTemplates(endpoints, engine.dialect)],
  });
}

/** The same, from the templates alone. */
export function dialectOfTemplates(endpoints: readonly Endpoint[], dialect: Dialect): Dialect {
  return dialectWith(dialect, { made: madeByTemplates(endpoints, dialect), unknown: [] });
}

function madeByTemplates(endpoints: readonly Endpoint[], dialect: Dialect): MadeFunctions["made"] {
  return endpoints.flatMap(({ source }) => (source === undefined ? [] : macrosMadeBy(source.text, dialect)));
}

/** An endpoint whose template knows what the functions of a dialect do with its values; what is newly found wrong with it. */
export function withFunctions(
  endpoint: Endpoint,
  dialect: Dialect,
  known: Dialect,
): { readonly endpoint: Endpoint; readonly problems: readonly Problem[] } {
  const { template, source, scope } = endpoint;
  if (template === undefined || source === undefined || dialect === known) return { endpoint, problems: [] };
  const before = new Set(compileTemplate(source.text, scope, known).problems.map(keyOf));
  const compiled = compileTemplate(source.text, scope, dialect);
  const fresh = compiled.problems.filter((problem) => !before.has(keyOf(problem)));
  return { endpoint: { ...endpoint, template: compiled.template }, problems: templateProblems(source, fresh) };
}

function keyOf({ offset, message }: TemplateProblem): string {
  return `${offset} ${message}`;
}
