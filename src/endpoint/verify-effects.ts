import type { Problem } from "../config/problem.ts";
import { effectsOf } from "../sql/classify.ts";
import type { Permission, PrivilegedAction } from "../sql/privileged-action.ts";
import { privilegedActions } from "../sql/privileged-actions.ts";
import type { Endpoint } from "./endpoint.ts";
import { combinedSamples, type Sample, sampleLookup } from "./samples.ts";
import { problemAt, renderSample, skipSpace, type TemplateCheck } from "./template-check.ts";

/**
 * Finds read endpoints that change data, statements that begin or end transactions, and actions that `operation.allow` does
 * not permit. Only tokenizes the statements, without preparing them.
 */
export function effectProblems(check: TemplateCheck, samples: readonly Sample[]): readonly Problem[] {
  const { endpoint, engine, source } = check;
  const problems = new Map<number, Problem>();
  const addProblem = (offset: number, message: string): void => {
    if (!problems.has(offset)) problems.set(offset, problemAt(source, offset, { severity: "error", message }));
  };
  for (const sample of [...samples, ...combinedSamples(samples)]) {
    const rendered = renderSample(check, sampleLookup(sample));
    if (rendered.statements.length === 0 && sample.kind === "all") addProblem(0, "the template holds no SQL statement");
    const texts = rendered.statements.map(({ sql }) => sql);
    const privileged = new Set<number>();
    texts.forEach((sql, index) => {
      for (const action of privilegedActions(sql, engine.dialect)) {
        const message = permissionProblem(action, endpoint);
        if (message === undefined) continue;
        privileged.add(index);
        addProblem(skipSpace(source.text, rendered.origin(index, action.at)), message);
      }
    });
    effectsOf(texts, engine.dialect).forEach((effect, index) => {
      if (effect.kind === "reads" || privileged.has(index)) return;
      const message = effectProblem(effect.verb, endpoint.operation.kind);
      if (message !== undefined) addProblem(skipSpace(source.text, rendered.origin(index, 0)), message);
    });
  }
  return [...problems.values()];
}

const TRANSACTION_VERBS: ReadonlySet<string> = new Set(["BEGIN", "START", "COMMIT", "ROLLBACK", "ABORT", "END"]);

function effectProblem(verb: string, kind: "read" | "write"): string | undefined {
  if (TRANSACTION_VERBS.has(verb)) {
    const setting = kind === "write" ? "; with operation.transaction: false, each statement commits by itself" : "";
    return `a template must not begin or end a transaction (${verb}), because Eider does that itself; remove it${setting}`;
  }
  if (kind === "write") return undefined;
  const temporary = verb === "CREATE" ? ", or make it temporary" : "";
  return `a read endpoint must not change the database (${verb}); set operation.type: Write${temporary}`;
}

const IN_INIT = "run it in the init of a connection";

/** What to do instead. */
function alternativeTo(permission: Permission, what: string): string {
  switch (permission) {
    case "checkpoint":
      return "remove it: DuckDB does this by itself";
    case "copy":
      return "let clients request CSV or Parquet, and read files with SELECT";
    case "set":
      if (what === "USE") return "write the full names of tables, or run USE in the init of a connection";
      // Functions such as `enable_logging` do not set a single setting.
      if (what !== "SET" && what !== "RESET" && what !== "PRAGMA") return IN_INIT;
      return `set it under duckdb, or ${IN_INIT}; for a value within one call, use SET VARIABLE`;
    case "attach":
    case "load":
    case "secret":
      return IN_INIT;
  }
}

function permissionProblem({ permission, what }: PrivilegedAction, { operation, scope }: Endpoint): string | undefined {
  switch (permission) {
    case "install":
      return `a template must not install extensions (${what}); install them in the init of a connection`;
    case "environment":
      return `a template must not read the environment (${what}); write {{env.NAME}}, and list the name in template.environment-whitelist`;
    case "attach":
    case "checkpoint":
    case "copy":
    case "load":
    case "secret":
    case "set": {
      if (operation.kind === "write" && operation.allow.includes(permission)) return undefined;
      const canBeAllowed = operation.kind === "write" && scope.isRefresh !== true;
      const exception = canBeAllowed ? ` unless operation.allow lists '${permission}'` : "";
      return `a template must not run ${what}${exception}; ${alternativeTo(permission, what)}`;
    }
  }
}
