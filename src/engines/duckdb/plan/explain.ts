import { errorMessage } from "../../../error-message.ts";
import type { Mask } from "../../../secrets.ts";
import type { Statement } from "../../../sql/statement.ts";
import type { Explain } from "../../engine.ts";
import type { Explanation, StatementPlan } from "../../explanation.ts";
import { withoutSql } from "../messages.ts";
import { openQueryHints } from "../read/query-hints.ts";
import { windowedQuery } from "../read/windowed-query.ts";
import type { Session } from "../session/session.ts";
import type { Databases } from "./databases.ts";
import { textRows } from "./inspect.ts";
import { planTree } from "./plan-tree.ts";
import { CREATES_TEMPORARY } from "./rehearse.ts";

export interface ExplainContext {
  readonly session: Session;
  readonly databases: Pick<Databases, "rollbackProblem">;
  readonly mask: Mask;
}

/** Explains statements in a transaction, and rolls it back. Ends the session. */
export async function explain(query: Explain, { session, databases, mask }: ExplainContext): Promise<Explanation> {
  const { statements, window, analyze } = query;
  const reason = analyze ? await databases.rollbackProblem(statements) : undefined;
  if (reason !== undefined) {
    await session.end();
    return { kind: "refused", reason };
  }
  await session.begin();
  const plans: StatementPlan[] = [];
  for (const [index, statement] of statements.entries()) {
    const isLast = index === statements.length - 1;
    const windowed = isLast && window !== undefined ? await windowedOrSame(statement, window, session) : statement;
    const plan = await (analyze ? analyzeStatement : planOnly)(windowed, session);
    plans.push({ ...plan, reason: plan.reason && mask(plan.reason) });
  }
  await session.rollback();
  await session.end();
  return { kind: "plans", plans };
}

async function windowedOrSame(
  statement: Statement,
  window: NonNullable<Explain["window"]>,
  session: Session,
): Promise<Statement> {
  return (await windowedQuery(statement, window, { session, hints: openQueryHints() })) ?? statement;
}

/** Later statements may read a temporary table, so it is created, without rows. */
async function planOnly(statement: Statement, session: Session): Promise<StatementPlan> {
  const plan = await planOf(statement, session);
  if (CREATES_TEMPORARY.test(statement.sql) && plan.reason === undefined) {
    const { sql, values } = statement;
    // A table with columns instead of a query does not support WITH NO DATA.
    await session.execute({ sql: `${sql}\nWITH NO DATA`, values }).catch(() => session.execute(statement));
  }
  return plan;
}

/** Statements that EXPLAIN ANALYZE measures. */
const MEASURABLE = /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)*(?:with|select|from|values|insert|update|delete)\b/i;

async function analyzeStatement(statement: Statement, session: Session): Promise<StatementPlan> {
  const estimated = await planOf(statement, session);
  const canMeasure = MEASURABLE.test(statement.sql) && estimated.root !== undefined;
  const startedAt = performance.now();
  if (!canMeasure) {
    await session.execute(statement);
    return { ...estimated, ms: performance.now() - startedAt };
  }
  const root = await explained("EXPLAIN (ANALYZE, FORMAT json)", statement, session);
  // DuckDB has no measured plan of a simple INSERT.
  return { root: root ?? estimated.root, reason: undefined, ms: performance.now() - startedAt };
}

/** DuckDB 1.5 crashes when it explains these. */
const CRASHES = /\bmerge\b|\binsert\s+or\b|\bon\s+conflict\b/i;

async function planOf(statement: Statement, session: Session): Promise<StatementPlan> {
  const without = (reason: string): StatementPlan => ({ root: undefined, reason, ms: undefined });
  if (CRASHES.test(statement.sql) && /\breturning\b/i.test(statement.sql))
    return without("DuckDB cannot explain MERGE, INSERT OR REPLACE and ON CONFLICT with RETURNING");
  try {
    const root = await explained("EXPLAIN (FORMAT json)", statement, session);
    return root === undefined
      ? without("DuckDB has no plan of this statement")
      : { root, reason: undefined, ms: undefined };
  } catch (error) {
    session.cancellation.check();
    return without(withoutSql(errorMessage(error)).split("\n")[0] ?? "");
  }
}

async function explained(prefix: string, { sql, values }: Statement, session: Session) {
  const [[, json] = []] = await textRows(await session.execute({ sql: `${prefix} ${sql}`, values }));
  return json == null ? undefined : planTree(json);
}
