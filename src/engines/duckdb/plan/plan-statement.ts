import duckdb from "@duckdb/node-bindings";
import { errorMessage } from "../../../error-message.ts";
import type { BoundValue, Statement } from "../../../sql/statement.ts";
import { tokensOf } from "../../../sql/statement-words.ts";
import type { StatementProblem } from "../../engine.ts";
import { duckdbDialect } from "../dialect.ts";
import { withoutSql } from "../messages.ts";
import { extractStatements } from "../session/extract-statements.ts";
import { changedDatabase, listDatabases } from "./databases.ts";
import { errorPosition } from "./error-position.ts";
import { inspect } from "./inspect.ts";
import { runForError } from "./rehearse.ts";
import { MAY_BE_UNSUPPORTED, unsupportedWrite } from "./unsupported-writes.ts";

/** Only parses: the tables need not exist. */
export async function parseStatement(native: duckdb.Connection, sql: string): Promise<StatementProblem | undefined> {
  try {
    await extractStatements(native, sql);
    return undefined;
  } catch (error) {
    return problemOf(error, sql);
  }
}

/** Preparing finds syntax errors and missing names, explaining with the values finds mismatched types. */
export async function planStatement(
  native: duckdb.Connection,
  statement: Statement,
): Promise<StatementProblem | undefined> {
  const { sql, values } = statement;
  if (WRITES_WHEN_PREPARED.test(sql)) return parseStatement(native, sql);
  let mayMismatch = isExplainable(statement);
  const problem = await findPrepareProblem(native, sql, (prepared) => {
    mayMismatch &&= !haveExpectedTypes(prepared, values);
  });
  if (problem !== undefined || !mayMismatch) return problem;
  const message = await runForError(native, { ...statement, sql: EXPLAIN + sql });
  return message === undefined ? undefined : typeProblem(message, sql);
}

/** Whether DuckDB can run the statement as prepared. For values of other types, it plans again, which is slow and may fail. */
function haveExpectedTypes(prepared: duckdb.PreparedStatement, values: readonly BoundValue[]): boolean {
  return values.every(({ type }, index) => {
    const expected = duckdb.param_type(prepared, index + 1);
    return type !== "DECIMAL" && expected === duckdb.Type[type];
  });
}

const EXPLAINABLE = /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)*(?:with|select|from|values|insert|update|delete)\b/i;
/** DuckDB 1.5 crashes when it explains a MERGE with RETURNING, or an INSERT OR REPLACE with it, which becomes a MERGE. */
const CRASHES = /\b(?:merge|returning)\b/i;
const EXPLAIN = "EXPLAIN ";

/** EXPLAIN binds the values, as a request will: DuckDB chooses functions by their types. */
function isExplainable({ sql, values }: Statement): boolean {
  return values.length > 0 && EXPLAINABLE.test(sql) && !CRASHES.test(sql);
}

/** What is wrong with the types of the values. Errors that depend on the values themselves do not count. */
function typeProblem(message: string, sql: string): StatementProblem | undefined {
  if (!/explicit (?:type )?cast/.test(message)) return undefined;
  const { offset, ...problem } = problemOf(message, EXPLAIN + sql);
  const advice = /STRING_LITERAL|VARCHAR/.test(message) ? "; give the parameter a validator such as type: int" : "";
  return {
    ...problem,
    message: problem.message + advice,
    offset: offset === undefined ? undefined : Math.max(0, offset - EXPLAIN.length),
  };
}

async function findPrepareProblem(
  native: duckdb.Connection,
  sql: string,
  onPrepared: (prepared: duckdb.PreparedStatement) => void = () => {},
): Promise<StatementProblem | undefined> {
  try {
    const prepared = await duckdb.prepare(native, sql);
    onPrepared(prepared);
    const type = duckdb.prepared_statement_type(prepared);
    duckdb.destroy_prepare_sync(prepared);
    return type === duckdb.StatementType.SELECT ? undefined : await attachedProblem(native, sql);
  } catch (error) {
    const unsupported = MAY_BE_UNSUPPORTED.test(sql) ? await attachedProblem(native, sql) : undefined;
    if (unsupported !== undefined) return unsupported;
    return errorMessage(error).includes("Cannot prepare multiple statements")
      ? await pivotProblem(native, sql)
      : problemOf(error, sql);
  }
}

/** DuckDB expands PIVOT into several statements, which can only be planned with the data. Its source can be planned. */
async function pivotProblem(native: duckdb.Connection, sql: string): Promise<StatementProblem | undefined> {
  const tokens = tokensOf(sql, duckdbDialect);
  const at = tokens.findIndex(({ text }, index) => text === "PIVOT" && tokens[index + 1]?.text === "(");
  const open = tokens[at + 1];
  if (at < 0 || open === undefined) return undefined;
  let depth = 0;
  const close = tokens.slice(at + 1).find(({ text }) => {
    depth += text === "(" ? 1 : text === ")" ? -1 : 0;
    return depth === 0;
  });
  if (close === undefined) return undefined;
  const before = sql.slice(0, tokens[at]?.at);
  const source = `SELECT * FROM ${sql.slice(open.at, close.at + 1)}`;
  const problem = await findPrepareProblem(native, before + source);
  if (problem?.offset === undefined) return problem;
  return { ...problem, offset: problem.offset - (before + source).length + close.at + 1 };
}

/**
 * DuckDB checks only at execution whether a database is read-only, and whether it supports the statement. (EXPLAIN would check
 * it too, but crashes the process for a MERGE with RETURNING.)
 */
async function attachedProblem(native: duckdb.Connection, sql: string): Promise<StatementProblem | undefined> {
  const databases = await listDatabases((statement) => inspect(native, statement));
  const changed = changedDatabase(sql, databases);
  if (changed === undefined || !changed.readOnly) return unsupportedWrite(sql, databases);
  const message = `the database "${changed.name}" is read-only, and this statement changes it`;
  // No earlier statement can make it valid.
  return { kind: "syntax", message, statement: 0, offset: undefined };
}

/** Preparing EXPORT creates its folder. */
const WRITES_WHEN_PREPARED = /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)*export\b/i;

function problemOf(error: unknown, sql: string): StatementProblem {
  const message = errorMessage(error);
  const offset = errorPosition(message, sql);
  const [, kind, path] = DOES_NOT_EXIST.exec(message) ?? [];
  const missing = path?.split(".").at(-1);
  const shown = extensionAdvice(message) ?? withoutSql(message);
  return { kind: kindOf(message), message: shown, statement: 0, offset, missing, missesTable: kind === "Table" };
}

/** If the schema does not exist either, DuckDB quotes both: `"sales.orders"`. */
const DOES_NOT_EXIST = /^Catalog Error: ([\w ]+) with name "?(.+?)"? does not exist(?:!| because)/;

const TAKES_NO_PARAMETER =
  /^Parameter Not Allowed Error|Unexpected prepared parameter|syntax error at or near "\$\d+"|cannot have parameters|must be a constant$|Only constants are supported/m;

function kindOf(message: string): StatementProblem["kind"] {
  if (TAKES_NO_PARAMETER.test(message)) return "parameter";
  if (message.startsWith("Parser Error")) return "syntax";
  return /^(Binder|Catalog|Extension Autoloading|Missing Extension|Permission) Error/.test(message) ? "names" : "other";
}

/** What to do about a missing extension, when DuckDB's message names one. A request never installs it. */
function extensionAdvice(message: string): string | undefined {
  const [, installed, required, holding] =
    /install the required extension '(\w+)'|requires the extension (\w+) to be loaded|exists in the (\w+) extension/.exec(
      message,
    ) ?? [];
  const extension = installed ?? required ?? holding;
  return (
    extension &&
    `this needs the extension '${extension}', and no connection has loaded it; write INSTALL ${extension}; LOAD ${extension} into the init of a connection`
  );
}
