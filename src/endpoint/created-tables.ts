import type { Engine, StatementProblem } from "../engines/engine.ts";
import type { Engines } from "../engines/engines.ts";
import type { Dialect } from "../sql/dialect.ts";
import { render } from "../sql/render.ts";
import type { Statement } from "../sql/statement.ts";
import { createdNames } from "../sql/statement-words.ts";
import type { Endpoint } from "./endpoint.ts";
import { sampleLookup, samplesOf } from "./samples.ts";

/** The last parts of the names that these templates and SQL `texts` create, in lower case. */
export function namesCreatedBy(
  endpoints: readonly Endpoint[],
  texts: readonly string[],
  { engine, engineOf }: Engines,
): ReadonlySet<string> {
  const created = endpoints.filter(mayCreate).flatMap((endpoint) => {
    const { dialect } = engineOf(endpoint.connections);
    return renderSamples(endpoint, dialect).flatMap((sql) => createdNames(sql, dialect));
  });
  return new Set([...texts.flatMap((sql) => createdNames(sql, engine.dialect)), ...created]);
}

/** Avoids rendering templates that create nothing. */
function mayCreate({ source }: Endpoint): boolean {
  return source !== undefined && /\bcreate\b/i.test(source.text);
}

function renderSamples(endpoint: Endpoint, dialect: Dialect): readonly string[] {
  const { template } = endpoint;
  if (template === undefined) return [];
  return samplesOf(endpoint, template).flatMap((sample) =>
    render(template, sampleLookup(sample), { dialect }).map(({ sql }) => sql),
  );
}

export interface TolerantPlanner<E extends Engine> {
  /** The same engine, except that `plan` tolerates a missing table that may exist later. */
  readonly engine: E;
  /** Whether a plan needed such a table. If so, only the syntax of its statements was checked. */
  hasMissedTable(): boolean;
}

export interface Tolerance {
  /** The last parts of names that the project creates, in lower case: no problem. */
  readonly created: ReadonlySet<string>;
  /** Whether a table may be missing in a database server, which others fill: a warning. */
  readonly atServer: boolean;
}

export function tolerateMissingTables<E extends Engine>(
  engine: E,
  { created, atServer }: Tolerance,
): TolerantPlanner<E> {
  let missed = false;
  const plan = async (statements: readonly Statement[]): Promise<StatementProblem | undefined> => {
    const problem = await engine.plan(statements);
    if (problem?.missing === undefined) return problem;
    const isCreated = created.has(problem.missing.toLowerCase());
    if (!isCreated && !(atServer && problem.missesTable === true)) return problem;
    missed = true;
    const syntax = await syntaxProblem(engine, statements);
    return syntax ?? (isCreated ? undefined : { ...problem, isWarning: true });
  };
  return { engine: { ...engine, plan }, hasMissedTable: () => missed };
}

/** The first syntax error. Planning ended at the missing table, so the statements after it have not been parsed. */
async function syntaxProblem(engine: Engine, statements: readonly Statement[]): Promise<StatementProblem | undefined> {
  for (const [statement, { sql }] of statements.entries()) {
    const problem = await engine.parse(sql);
    if (problem !== undefined) return { ...problem, statement };
  }
  return undefined;
}
