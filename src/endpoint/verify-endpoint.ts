import { oneLine, type Problem } from "../config/problem.ts";
import type { Engine, StatementProblem } from "../engines/engine.ts";
import type { Piece } from "../sql/template.ts";
import type { Endpoint } from "./endpoint.ts";
import { type Sample, sampleLookup, samplesOf, singleSamples } from "./samples.ts";
import { type Depth, problemAt, type Rendered, renderSample, startOf, type TemplateCheck } from "./template-check.ts";
import { effectProblems } from "./verify-effects.ts";

export type { Depth } from "./template-check.ts";

/** Checks the template with the database, without running it. Returns the endpoint to serve. */
export async function verifyEndpoint(
  endpoint: Endpoint,
  engine: Engine,
  depth: Depth,
): Promise<{ readonly endpoint: Endpoint; readonly problems: readonly Problem[] }> {
  const { template, source } = endpoint;
  if (template === undefined || source === undefined) return { endpoint, problems: [] };
  // At load time, the cache is not filled yet, so its table does not exist.
  const reach: Depth = endpoint.cache?.kind === "table" ? "parse" : depth;
  const checkWith = (inline: boolean): TemplateCheck => ({ endpoint, template, source, engine, depth: reach, inline });
  const samples = samplesOf(endpoint, template);
  const forbidden = effectProblems(checkWith(false), samples);
  if (forbidden.length > 0) return { endpoint, problems: forbidden };
  const bound = await checkAll(checkWith(false), samples);
  if (bound.length === 0) return { endpoint: await withRecordStore(checkWith(false), samples), problems: [] };
  // Where SQL does not allow a bound parameter, integers and enum values are inlined.
  const inlined = await checkAll(checkWith(true), samples);
  const isBetter = inlined.filter(isError).length < bound.filter(isError).length || inlined.length < bound.length;
  const best = await withRecordStore(checkWith(isBetter), samples);
  return { endpoint: best, problems: isBetter ? inlined : bound };
}

/** Adds the store for the records of its writes. */
async function withRecordStore(check: TemplateCheck, samples: readonly Sample[]): Promise<Endpoint> {
  const { endpoint, inline, engine, depth } = check;
  const { operation } = endpoint;
  if (operation.kind !== "write" || depth === "parse") return inline ? { ...endpoint, inline } : endpoint;
  const rendered = samples.map((sample) => renderSample(check, sampleLookup(sample)).statements);
  return { ...endpoint, inline, operation: { ...operation, recordStore: await engine.recordStore(rendered) } };
}

function isError({ severity }: Problem): boolean {
  return severity === "error";
}

/**
 * Checks the template with and without its optional parameters, and with every value of an enum that becomes part of the
 * SQL. If only some combinations fail, this is a warning, because clients may never send them.
 */
async function checkAll(check: TemplateCheck, samples: readonly Sample[]): Promise<readonly Problem[]> {
  const [least, all, ...values] = samples;
  if (least === undefined || all === undefined) throw new Error("there is always a least and a full sample");
  const allProblem = await checkSample(check, all);
  const leastProblem = all.optional.length === 0 ? allProblem : await checkSample(check, least);
  if (allProblem !== undefined) {
    if (leastProblem !== undefined) return [allProblem];
    for (const single of singleSamples(all)) {
      const problem = await checkSample(check, single);
      if (problem !== undefined) return [withNote(problem, "error", `when ${single.note} is set`)];
    }
    return [withNote(allProblem, "warning", `when ${all.note} are all set`)];
  }
  const problems: Problem[] = [];
  if (leastProblem !== undefined) problems.push(withNote(leastProblem, "warning", "when no optional parameter is set"));
  for (const value of values) {
    const problem = await checkSample(check, value);
    if (problem !== undefined) problems.push(withNote(problem, "error", `when ${value.note}`));
  }
  return problems;
}

async function checkSample(check: TemplateCheck, sample: Sample): Promise<Problem | undefined> {
  const { engine, depth } = check;
  const rendered = renderSample(check, sampleLookup(sample));
  if (depth === "parse") {
    for (const [index, { sql }] of rendered.statements.entries()) {
      const problem = await engine.parse(sql);
      if (problem !== undefined) return databaseProblem(check, problem, rendered.origin(index, problem.offset ?? 0));
    }
    return undefined;
  }
  const typed = rendered.statements.some(({ values }) => values.some(({ type }) => type !== "VARCHAR"));
  if (!typed || sample.kind === "value") return planned(rendered, check);
  // Typed NULLs check whether the types match. Where SQL allows these, it allows parameters, except after BY.
  const typeProblem = await planned(renderSample(check, sampleLookup(sample), true), check);
  if (typeProblem === undefined && !check.template.scalarAfterBy) return undefined;
  return (await planned(rendered, check)) ?? typeProblem;
}

async function planned(rendered: Rendered, check: TemplateCheck): Promise<Problem | undefined> {
  const problem = await check.engine.plan(rendered.statements);
  if (problem === undefined || problem.kind === "other") return undefined;
  return databaseProblem(check, problem, rendered.origin(problem.statement, problem.offset ?? 0));
}

function databaseProblem(check: TemplateCheck, problem: StatementProblem, offset: number): Problem {
  const { source } = check;
  const message =
    problem.kind === "parameter"
      ? "SQL takes no value at this place, only the author's own text; give the parameter an enum validator with the allowedValues"
      : oneLine(problem.message);
  const guess = problem.kind === "parameter" ? firstBareValue(check.template.pieces) : undefined;
  const position = problem.offset === undefined ? guess : offset;
  return problemAt(source, position ?? startOf(source.text, offset), { severity: "error", message });
}

/** The database reports no position. The first unquoted string is the likeliest. */
function firstBareValue(pieces: readonly Piece[]): number | undefined {
  for (const piece of pieces) {
    if (piece.kind === "value" && piece.ref.traits !== "scalar") return piece.offset;
    const inner = piece.kind === "section" ? firstBareValue(piece.pieces) : undefined;
    if (inner !== undefined) return inner;
  }
  return undefined;
}

function withNote(problem: Problem, severity: Problem["severity"], note: string): Problem {
  return { ...problem, severity, message: `${problem.message} (${note})` };
}
