import type { Problem } from "../config/problem.ts";
import type { EmbeddedEngine } from "../engines/embedded-engine.ts";
import { compileTemplate } from "../sql/compile-template.ts";
import type { Dialect } from "../sql/dialect.ts";
import type { TemplateProblem } from "../sql/template.ts";
import { macrosCreatedBy, type UserFunctions } from "../sql/user-functions.ts";
import { templateProblems } from "./compile-endpoint.ts";
import type { Endpoint } from "./endpoint.ts";

/** The functions that these endpoints may call: the macros of the database and of their templates, and unknown ones. */
export async function functionsOf(endpoints: readonly Endpoint[], engine: EmbeddedEngine): Promise<UserFunctions> {
  const called = new Set(endpoints.flatMap(({ template }) => [...(template?.enclosingFunctions ?? [])]));
  // If no template passes values to functions, the database need not be queried.
  const found: UserFunctions = called.size === 0 ? { defined: [], unknown: [] } : await engine.userFunctions(called);
  return { ...found, defined: [...found.defined, ...functionsOfTemplates(endpoints, engine.dialect).defined] };
}

/** The same with only the macros of the templates, for a database that cannot be reached. */
export function functionsOfTemplates(endpoints: readonly Endpoint[], dialect: Dialect): UserFunctions {
  const defined = endpoints.flatMap(({ source }) =>
    source === undefined ? [] : macrosCreatedBy(source.text, dialect),
  );
  return { defined, unknown: [] };
}

/** Recompiles an endpoint with `dialect`. Returns only the problems that compiling it with `known` does not find. */
export function recompileEndpoint(
  endpoint: Endpoint,
  dialect: Dialect,
  known: Dialect,
): { readonly endpoint: Endpoint; readonly problems: readonly Problem[] } {
  const { template, source, scope } = endpoint;
  if (template === undefined || source === undefined || dialect === known) return { endpoint, problems: [] };
  const before = new Set(compileTemplate(source.text, scope, known).problems.map(keyOf));
  const compiled = compileTemplate(source.text, scope, dialect);
  const newProblems = compiled.problems.filter((problem) => !before.has(keyOf(problem)));
  return { endpoint: { ...endpoint, template: compiled.template }, problems: templateProblems(source, newProblems) };
}

function keyOf({ offset, message }: TemplateProblem): string {
  return `${offset} ${message}`;
}
