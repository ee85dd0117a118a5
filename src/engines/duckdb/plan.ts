import duckdb from "@duckdb/node-bindings";
import type { Statement } from "../../sql/statement.ts";
import type { StatementProblem } from "../engine.ts";
import { errorPosition } from "./error-position.ts";
import { messageOf, withoutSql } from "./messages.ts";
import type { Session } from "./session.ts";

/** Parses only. */
export async function parseStatement(session: Session, sql: string): Promise<StatementProblem | undefined> {
  try {
    await session.extract(sql);
    return undefined;
  } catch (error) {
    return problemOf(error, sql);
  }
}

/** Plans statements in order. What changes data is never run; what makes temporary tables is run without data. */
export async function planStatements(
  session: Session,
  statements: readonly Statement[],
): Promise<StatementProblem | undefined> {
  if (statements.length > 1) await session.begin();
  let skipped = false;
  for (const [index, statement] of statements.entries()) {
    const problem = await planStatement(session, statement);
    // A name may be missing because a statement before, which was not run, would have made it.
    if (problem?.kind === "names" && skipped) return undefined;
    if (problem !== undefined) return { ...problem, statement: index };
    if (statements.length > 1 && !(await rehearse(session, statement))) skipped = true;
  }
  return undefined;
}

/** Kinds that EXPLAIN plans with their values, without running them. */
const EXPLAINED: ReadonlySet<duckdb.StatementType> = new Set([
  duckdb.StatementType.INSERT,
  duckdb.StatementType.UPDATE,
  duckdb.StatementType.DELETE,
  duckdb.StatementType.MERGE_INTO,
  duckdb.StatementType.CREATE,
]);

async function planStatement(session: Session, { sql, values }: Statement): Promise<StatementProblem | undefined> {
  const described = await errorOf(session.runOnce({ sql: `DESCRIBE SELECT * FROM (\n${sql}\n) q`, values }));
  if (described === undefined) return undefined;
  let type: duckdb.StatementType;
  try {
    type = await session.typeOf(sql);
  } catch (error) {
    // Several statements at once: what DuckDB makes of PIVOT, which can only be planned with the data.
    return messageOf(error).includes("Cannot prepare multiple statements") ? undefined : problemOf(error, sql);
  }
  // Fine by itself but not in a sub-query: PRAGMA and the like.
  const parsed = !isSyntax(described);
  if (type === duckdb.StatementType.SELECT) return parsed ? problemOf(described, sql, 1) : undefined;
  if (!EXPLAINED.has(type)) return undefined;
  const explained = await errorOf(session.runOnce({ sql: `EXPLAIN\n${sql}`, values }));
  return explained === undefined || isSyntax(explained) ? undefined : problemOf(explained, sql, 1);
}

const MAKES_TEMPORARY =
  /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)*create\s+(?:or\s+replace\s+)?(?:local\s+)?temp(?:orary)?\b/i;

/** Runs what later statements may need. False when it was left alone. */
async function rehearse(session: Session, { sql, values }: Statement): Promise<boolean> {
  if (!MAKES_TEMPORARY.test(sql)) return false;
  const empty = await errorOf(session.runOnce({ sql: `${sql}\nWITH NO DATA`, values }));
  // Views, macros and tables without a query do not know WITH NO DATA, and cost nothing.
  return empty === undefined || (isSyntax(empty) && (await errorOf(session.runOnce({ sql, values }))) === undefined);
}

async function errorOf(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
    return undefined;
  } catch (error) {
    return error;
  }
}

function isSyntax(error: unknown): boolean {
  return messageOf(error).startsWith("Parser Error");
}

function problemOf(error: unknown, sql: string, linesBefore = 0): StatementProblem {
  const message = messageOf(error);
  const offset = errorPosition(message, sql, linesBefore);
  return { kind: kindOf(message), message: withoutSql(message), statement: 0, offset };
}

function kindOf(message: string): StatementProblem["kind"] {
  if (/^Parameter Not Allowed Error|Unexpected prepared parameter|syntax error at or near "\$\d+"/.test(message)) {
    return "parameter";
  }
  if (message.startsWith("Parser Error")) return "syntax";
  return /^(Binder|Catalog) Error/.test(message) ? "names" : "other";
}
