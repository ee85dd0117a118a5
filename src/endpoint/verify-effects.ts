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
    return `the service begins and ends transactions itself, and this statement would do so too (${verb}); remove it: operation.transaction says whether the template is one transaction`;
  }
  if (kind === "write") return undefined;
  return `a read endpoint must not change anything, and this statement does (${verb}); set operation.type: Write, or make it a temporary table`;
}

/** What to do instead of using each permission. */
const INSTEAD: Readonly<Record<Permission, string>> = {
  attach: "attach it in the init of a connection",
  checkpoint: "DuckDB does it by itself",
  copy: "request CSV or Parquet instead, and read files with SELECT",
  load: "load it in the init of a connection",
  secret: "make it in the init of a connection",
  set: "set it under duckdb or in the init of a connection, and keep values of a call by SET VARIABLE",
};

function permissionProblem({ permission, what }: PrivilegedAction, { operation, scope }: Endpoint): string | undefined {
  switch (permission) {
    case "install":
      return `extensions are never installed while requests are served (${what}); install them in the init of a connection`;
    case "environment":
      return `a template cannot read the environment by itself (${what}); write {{env.NAME}}, and list the name in template.environment-whitelist`;
    case "attach":
    case "checkpoint":
    case "copy":
    case "load":
    case "secret":
    case "set": {
      if (operation.kind === "write" && operation.allow.includes(permission)) return undefined;
      const instead =
        what === "USE" ? "write the full names of tables, or USE in the init of a connection" : INSTEAD[permission];
      const message = `a template must not reach beyond its data, and this one does (${what}); ${instead}`;
      return operation.kind === "read" || scope.isRefresh === true
        ? message
        : `${message}; only a write that says operation.allow: [${permission}] may do it`;
    }
  }
}
