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
    const problem = await planStatement(session, statement.sql);
    // A name may be missing because a statement before, which was not run, would have made it.
    if (problem?.kind === "names" && skipped) return undefined;
    if (problem !== undefined) return { ...problem, statement: index };
    if (statements.length > 1 && !(await rehearse(session, statement))) skipped = true;
  }
  return undefined;
}

/** Preparing finds what does not parse, and names that are not there. */
async function planStatement(session: Session, sql: string): Promise<StatementProblem | undefined> {
  try {
    await session.typeOf(sql);
    return undefined;
  } catch (error) {
    // Several statements at once: what DuckDB makes of PIVOT, which can only be planned with the data.
    return messageOf(error).includes("Cannot prepare multiple statements") ? undefined : problemOf(error, sql);
  }
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

function problemOf(error: unknown, sql: string): StatementProblem {
  const message = messageOf(error);
  const offset = errorPosition(message, sql);
  return { kind: kindOf(message), message: withoutSql(message), statement: 0, offset };
}

function kindOf(message: string): StatementProblem["kind"] {
  if (/^Parameter Not Allowed Error|Unexpected prepared parameter|syntax error at or near "\$\d+"/.test(message)) {
    return "parameter";
  }
  if (message.startsWith("Parser Error")) return "syntax";
  return /^(Binder|Catalog) Error/.test(message) ? "names" : "other";
}
