import type { Problem } from "../config/problem.ts";
import { effectsOf } from "../sql/classify.ts";
import { type Power, type Reach, reachesOf } from "../sql/reach.ts";
import type { Endpoint } from "./endpoint.ts";
import { combinedSamples, type Sample, sampleLookup } from "./samples.ts";
import { problemAt, renderSample, startOf, type TemplateCheck } from "./template-check.ts";

/**
 * Reads that would change data, transactions that are not theirs to end, and whatever reaches beyond the data of an endpoint that
 * does not allow it. Only the tokens of the statements are read: nothing is prepared.
 */
export function effectProblems(check: TemplateCheck, samples: readonly Sample[]): readonly Problem[] {
  const { endpoint, engine, source } = check;
  const problems = new Map<number, Problem>();
  const complain = (offset: number, message: string): void => {
    if (!problems.has(offset)) problems.set(offset, problemAt(source, offset, { severity: "error", message }));
  };
  for (const sample of [...samples, ...combinedSamples(samples)]) {
    const rendered = renderSample(check, sampleLookup(sample));
    if (rendered.statements.length === 0 && sample.kind === "all") complain(0, "the template holds no SQL statement");
    const texts = rendered.statements.map(({ sql }) => sql);
    const reaching = new Set<number>();
    texts.forEach((sql, index) => {
      for (const reach of reachesOf(sql, engine.dialect)) {
        const message = reachProblem(reach, endpoint);
        if (message === undefined) continue;
        reaching.add(index);
        complain(startOf(source.text, rendered.origin(index, reach.at)), message);
      }
    });
    effectsOf(texts, engine.dialect).forEach((effect, index) => {
      if (effect.kind === "reads" || reaching.has(index)) return;
      const message = effectProblem(effect.verb, endpoint.operation.kind);
      if (message !== undefined) complain(startOf(source.text, rendered.origin(index, 0)), message);
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

/** Where it belongs instead. */
const INSTEAD: Readonly<Record<Power, string>> = {
  attach: "attach it in the init of a connection",
  checkpoint: "DuckDB does it by itself",
  copy: "request CSV or Parquet instead, and read files with SELECT",
  load: "load it in the init of a connection",
  secret: "make it in the init of a connection",
  set: "set it under duckdb or in the init of a connection, and keep values of a call by SET VARIABLE",
};

function reachProblem({ power, what }: Reach, { operation }: Endpoint): string | undefined {
  switch (power) {
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
      if (operation.kind === "write" && operation.allow.includes(power)) return undefined;
      return `a template must not reach beyond its data, and this one does (${what}); ${INSTEAD[power]}; only a write that says operation.allow: [${power}] may do it`;
    }
  }
}
