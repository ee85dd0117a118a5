import type { Engine, StatementProblem } from "../engines/engine.ts";
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
  dialect: Dialect,
): ReadonlySet<string> {
  const rendered = endpoints.flatMap((endpoint) => (mayCreate(endpoint) ? renderSamples(endpoint, dialect) : []));
  return new Set([...texts, ...rendered].flatMap((sql) => createdNames(sql, dialect)));
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

export interface TolerantPlanner {
  /** The same engine, except that `plan` reports no problem for a missing table that will be created later. */
  readonly engine: Engine;
  /** Whether a plan needed such a table. If so, only the syntax of its statements was checked. */
  hasMissedTable(): boolean;
}

export function tolerateMissingTables(engine: Engine, created: ReadonlySet<string>): TolerantPlanner {
  let missed = false;
  const plan = async (statements: readonly Statement[]): Promise<StatementProblem | undefined> => {
    const problem = await engine.plan(statements);
    if (problem?.missing === undefined || !created.has(problem.missing.toLowerCase())) return problem;
    missed = true;
    return await syntaxProblem(engine, statements);
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
