import type { Column } from "../../result/column.ts";
import type { Statement } from "../../sql/statement.ts";
import { tokensOf, topLevelWords } from "../../sql/statement-words.ts";
import { splitStatements } from "../../sql/whole-tokens.ts";
import type { StatementProblem } from "../engine.ts";
import { postgresDialect } from "./dialect.ts";
import type { Session } from "./session.ts";
import { errorOffset, PostgresError } from "./wire/postgres-error.ts";

/** The result of preparing statements: what is wrong, or the columns of the last one. */
export type Planned =
  | { readonly problem: StatementProblem }
  | { readonly problem: undefined; readonly columns: readonly Column[] };

/** Prepares statements in order, and runs those that create temporary tables, without rows. */
export async function planStatements(statements: readonly Statement[], session: Session): Promise<Planned> {
  let columns: readonly Column[] = [];
  const createsTables = statements.some(({ sql }) => isTemporary(sql));
  if (createsTables) await session.run([{ run: "BEGIN READ WRITE" }]);
  for (const [index, statement] of statements.entries()) {
    try {
      const prepared = await session.prepare(withoutRows(statement));
      ({ columns } = prepared);
      if (isTemporary(statement.sql)) await session.run([{ run: prepared }]);
    } catch (error) {
      if (!(error instanceof PostgresError)) throw error;
      return { problem: problemOf(error, statement.sql, index) };
    }
  }
  await session.rollback();
  return { problem: undefined, columns };
}

function isTemporary(sql: string): boolean {
  const [first, second, third] = topLevelWords(tokensOf(sql, postgresDialect));
  if (first !== "CREATE") return false;
  return [second, third].some((word) => word === "TEMP" || word === "TEMPORARY");
}

/** `CREATE TEMP TABLE x AS SELECT ...`, without the rows. */
function withoutRows(statement: Statement): Statement {
  if (!isTemporary(statement.sql)) return statement;
  const words = topLevelWords(tokensOf(statement.sql, postgresDialect));
  const isQuery = words.includes("TABLE") && words.includes("AS") && !words.includes("DATA");
  return isQuery ? { ...statement, sql: `${statement.sql}\nWITH NO DATA` } : statement;
}

/** The syntax of SQL, of which tables and columns may be missing. */
export async function parseStatements(sql: string, session: Session): Promise<StatementProblem | undefined> {
  for (const text of splitStatements(sql, postgresDialect)) {
    try {
      await session.prepare({ sql: text, values: [] });
    } catch (error) {
      if (!(error instanceof PostgresError)) throw error;
      const problem = problemOf(error, text, 0);
      if (problem.kind === "syntax") return problem;
    }
  }
  return undefined;
}

const MISSING = /^(relation|type|function|schema|procedure|table|view|sequence) "?([^"(]+)"?(?:\(.*\))? does not exist/;

const TABLES: ReadonlySet<string> = new Set(["relation", "table", "view", "schema"]);

function problemOf(error: PostgresError, sql: string, statement: number): StatementProblem {
  const { message } = error;
  const [, what = "", path] = MISSING.exec(message) ?? [];
  const missing = path?.split(".").at(-1);
  const kind = kindOf(error);
  const missesTable = TABLES.has(what);
  return { kind, message, statement, offset: errorOffset(error, sql), missing, missesTable };
}

function kindOf({ code, message }: PostgresError): StatementProblem["kind"] {
  if (code === "42601") return /at or near "\$\d+"/.test(message) ? "parameter" : "syntax";
  return /^(?:42|3F|0A|3D)/.test(code) ? "names" : "other";
}
