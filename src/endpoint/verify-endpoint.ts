import { oneLine, type Problem } from "../config/problem.ts";
import type { Engine, StatementProblem } from "../engines/engine.ts";
import { type Rendering, renderingsOf, withRendering } from "../sql/rendering.ts";
import type { CallValueRef, LiteralPart, Piece, Template } from "../sql/template.ts";
import type { Endpoint } from "./endpoint.ts";
import { type Sample, sampleLookup, samplesOf, sampleTable, singleSamples } from "./samples.ts";
import {
  type Depth,
  problemAt,
  type RenderedSample,
  renderSample,
  skipSpace,
  type TemplateCheck,
} from "./template-check.ts";
import { effectProblems } from "./verify-effects.ts";

export type { Depth } from "./template-check.ts";

/** Checks the template with the database, without running it. Returns the endpoint with the rendering that works best. */
export async function verifyEndpoint(
  endpoint: Endpoint,
  engine: Engine,
  depth: Depth,
): Promise<{ readonly endpoint: Endpoint; readonly problems: readonly Problem[] }> {
  const { template, source } = endpoint;
  if (template === undefined || source === undefined) return { endpoint, problems: [] };
  const checkOf = (template: Template): TemplateCheck => ({ endpoint, template, source, engine, depth });
  const forbidden = effectProblems(checkOf(template), samplesOf(endpoint, template));
  if (forbidden.length > 0) return { endpoint, problems: forbidden };
  const tried: CheckedRendering[] = [];
  for (const rendering of renderingsOf(template, (name) => hasDateOrTime(endpoint, name))) {
    const check = checkOf(withRendering(template, rendering));
    const found = await checkAll(check);
    tried.push({ rendering, check, ...found });
    const { problems } = found;
    if (problems.length === 0) break;
  }
  const best = tried.reduce((one, other) => (isBetter(other.problems, one.problems) ? other : one));
  return { endpoint: await verifiedEndpoint(best.check), problems: explainProblems(best, tried) };
}

/** Values that must be bound: as SQL text, `2024-01-31` would be a valid subtraction, and `12:00` a valid slice. */
const DATE_OR_TIME = /^\d+-\d+-\d+|^\d+:\d+/;

function hasDateOrTime({ parameters }: Endpoint, name: string): boolean {
  const { validators = [] } = parameters.find((parameter) => parameter.name === name) ?? {};
  return validators.some(({ allowedValues }) => allowedValues?.some((text) => DATE_OR_TIME.test(text)) === true);
}

interface CheckedRendering {
  readonly rendering: Rendering;
  readonly check: TemplateCheck;
  readonly problems: readonly Problem[];
  /** Whether only some values of an enum fail. */
  readonly someValuesFail: boolean;
}

function isBetter(one: readonly Problem[], other: readonly Problem[]): boolean {
  const errors = one.filter(isError).length - other.filter(isError).length;
  return errors < 0 || (errors === 0 && !one.some(isError) && one.length < other.length);
}

/**
 * The problems to report for the best rendering. If a bare enum works only as a value, but some of its values also work as SQL
 * text, the others may be typos: a warning. If it works neither way, the message shows both reasons.
 */
function explainProblems(
  { rendering, problems }: CheckedRendering,
  tried: readonly CheckedRendering[],
): readonly Problem[] {
  const [inlined] = tried;
  if (problems.length === 0 && inlined?.someValuesFail === true) {
    const list = namesOf(rendering.boundEnums);
    return inlined.problems.map((problem) => ({
      ...problem,
      severity: "warning",
      message: `${problem.message}; so ${list} is compared as a value, although the other allowedValues are valid SQL here`,
    }));
  }
  const names = new Set(tried.flatMap(({ rendering: { boundEnums } }) => [...boundEnums]));
  const bound = tried.find(({ rendering: { boundEnums } }) => boundEnums.size === names.size);
  const other = names.size === 0 || rendering.boundEnums.size > 0 ? undefined : bound?.problems.find(isError);
  const first = problems.find(isError);
  if (first === undefined || other === undefined) return problems;
  const both = { ...first, message: `${first.message}; with ${namesOf(names)} as a value: ${other.message}` };
  return problems.map((problem) => (problem === first ? both : problem));
}

function namesOf(parameters: ReadonlySet<string>): string {
  return [...parameters].map((name) => `{{params.${name}}}`).join(", ");
}

/** The endpoint with the checked template and, for a write, with the store for its idempotency records. */
async function verifiedEndpoint(check: TemplateCheck): Promise<Endpoint> {
  const { endpoint, template, engine, depth } = check;
  const { operation } = endpoint;
  if (operation.kind !== "write" || depth === "parse") return { ...endpoint, template };
  const rendered = samplesOf(endpoint, template).map((sample) => renderSample(check, sampleLookup(sample)).statements);
  return { ...endpoint, template, operation: { ...operation, recordStore: await engine.recordStore(rendered) } };
}

function isError({ severity }: Problem): boolean {
  return severity === "error";
}

/**
 * Checks the template with all optional values set, with none set, and with every value of an enum that becomes part of the
 * SQL. If it fails only with all of them set, or only with none, this is a warning: such requests may never come.
 */
async function checkAll(check: TemplateCheck): Promise<Pick<CheckedRendering, "problems" | "someValuesFail">> {
  const [least, all, ...values] = samplesOf(check.endpoint, check.template);
  if (least === undefined || all === undefined) throw new Error("samplesOf must return at least two samples");
  const allProblem = await checkSample(check, all);
  const leastProblem = all.optional.length === 0 ? allProblem : await checkSample(check, least);
  if (allProblem !== undefined) {
    if (leastProblem !== undefined) return failedWith(allProblem);
    for (const single of singleSamples(all)) {
      const problem = await checkSample(check, single);
      if (problem !== undefined) return failedWith(withNote(problem, "error", `when ${single.note} is set`));
    }
    return failedWith(withNote(allProblem, "warning", `when ${all.note} are all set`));
  }
  const problems: Problem[] = [];
  if (leastProblem !== undefined) problems.push(withNote(leastProblem, "warning", "when no optional parameter is set"));
  for (const value of values) {
    const problem = await checkSample(check, value);
    if (problem !== undefined) problems.push(withNote(problem, "error", `when ${value.note}`));
  }
  return { problems, someValuesFail: leastProblem === undefined && problems.length > 0 };
}

/** The result for a problem that does not depend on the values of enums. */
function failedWith(problem: Problem): Pick<CheckedRendering, "problems" | "someValuesFail"> {
  return { problems: [problem], someValuesFail: false };
}

async function checkSample(check: TemplateCheck, sample: Sample): Promise<Problem | undefined> {
  const { engine, depth, endpoint } = check;
  const rendered = renderSample(check, sampleLookup(sample));
  if (depth === "parse") {
    for (const [index, { sql }] of rendered.statements.entries()) {
      const problem = await engine.parse(sql);
      if (problem !== undefined) return databaseProblem(check, problem, rendered.origin(index, problem.offset ?? 0));
    }
    return undefined;
  }
  const { statements } = rendered;
  const planned = await engine.plan(statements);
  const isWrite = endpoint.operation.kind === "write";
  const problem =
    planned ?? (isWrite ? await engine.writeProblem(statements, endpoint.operation.transaction) : undefined);
  // `other` depends on the values, which are only samples here.
  if (problem === undefined || problem.kind === "other") return undefined;
  if (problem.kind === "parameter") return misplacedValueProblem(check, sample, problem, rendered);
  return databaseProblem(check, problem, rendered.origin(problem.statement, problem.offset ?? 0));
}

function databaseProblem({ source, endpoint }: TemplateCheck, problem: StatementProblem, offset: number): Problem {
  const position = problem.offset === undefined ? skipSpace(source.text, offset) : offset;
  const original = oneLine(problem.message);
  const message = adviseVariables(original, endpoint);
  // Advice says more.
  const explanation =
    message === original ? problem.explanation && withVariable(problem.explanation, endpoint) : undefined;
  const found: Pick<Problem, "severity" | "message"> =
    problem.isWarning === true
      ? { severity: "warning", message: `${message}; calls fail until it exists` }
      : { severity: "error", message };
  return { ...problemAt(source, position, found), explanation };
}

/** Replaces the name of a snapshot's table, which means nothing to the author. */
function withVariable(message: string, { cache }: Endpoint): string {
  return cache?.kind === "table" ? message.replaceAll(sampleTable(cache.name), "{{cache.table}}") : message;
}

function adviseVariables(message: string, endpoint: Endpoint): string {
  const named = withVariable(message, endpoint);
  return named !== message && named.includes("does not exist")
    ? `${named}; write {{cache.catalog}}.{{cache.schema}}.{{cache.table}}`
    : named;
}

const noValueMessage = (names: string): string => `SQL does not accept a bound value here (${names})`;

/** Finds the value that SQL does not accept as a parameter: with NULL in its place, the database accepts the statements. */
async function misplacedValueProblem(
  check: TemplateCheck,
  sample: Sample,
  problem: StatementProblem,
  rendered: RenderedSample,
): Promise<Problem> {
  const { source, engine, template } = check;
  for (const piece of valuePieces(template.pieces)) {
    const withNull = { ...check, template: { ...template, pieces: withNullFor(template.pieces, piece) } };
    const other = await engine.plan(renderSample(withNull, sampleLookup(sample)).statements);
    if (other?.kind === "parameter") continue;
    return problemAt(source, piece.offset, { severity: "error", message: misplacedValueMessage(piece) });
  }
  const offset = problem.offset === undefined ? 0 : rendered.origin(problem.statement, problem.offset);
  const names = [...template.reads.values()].map(({ scope, name }) => `{{${scope}.${name}}}`).join(", ");
  const message = `${noValueMessage(names)}; give the parameters enum validators with the allowedValues`;
  return problemAt(source, skipSpace(source.text, offset), { severity: "error", message });
}

type ValuePiece = Extract<Piece, { kind: "value" | "typed-literal" | "literal" }>;

function valuePieces(pieces: readonly Piece[]): readonly ValuePiece[] {
  return pieces.flatMap((piece): readonly ValuePiece[] => {
    switch (piece.kind) {
      case "section":
        return valuePieces(piece.pieces);
      case "value":
      case "typed-literal":
        return [piece];
      case "literal":
        return piece.quoted ? [] : [piece];
      default:
        return [];
    }
  });
}

function withNullFor(pieces: readonly Piece[], value: ValuePiece): readonly Piece[] {
  return pieces.map((piece): Piece => {
    if (piece === value) return { kind: "sql", text: " NULL ", offset: value.offset, blank: false };
    return piece.kind === "section" ? { ...piece, pieces: withNullFor(piece.pieces, value) } : piece;
  });
}

function misplacedValueMessage(piece: ValuePiece): string {
  const refs = piece.kind === "literal" ? refsOf(piece.parts) : [piece.ref];
  const message = noValueMessage(refs.map((ref) => `{{${nameOf(ref)}}}`).join(", "));
  const validator = "give the parameter an enum validator with the allowedValues";
  if (piece.kind !== "literal") return piece.ref.valueClass === "enum" ? message : `${message}; ${validator}`;
  const bare = `write ${refs.map((ref) => `{{{${nameOf(ref)}}}}`).join("")} without the quotes`;
  return `${message}; ${piece.allEnums ? bare : `${validator}, and ${bare}`}`;
}

function nameOf({ scope, name }: CallValueRef): string {
  return `${scope}.${name}`;
}

function refsOf(parts: readonly LiteralPart[]): readonly CallValueRef[] {
  return parts.flatMap((part) => {
    switch (part.kind) {
      case "text":
        return [];
      case "value":
        return [part.ref];
      case "section":
        return refsOf(part.parts);
    }
  });
}

function withNote(problem: Problem, severity: Problem["severity"], note: string): Problem {
  return { ...problem, severity: isError(problem) ? severity : "warning", message: `${problem.message} (${note})` };
}
