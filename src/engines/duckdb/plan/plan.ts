import duckdb from "@duckdb/node-bindings";
import { errorMessage } from "../../../error-message.ts";
import { RequestFailure } from "../../../failure.ts";
import type { Column } from "../../../result/column.ts";
import type { Mask } from "../../../secrets.ts";
import type { BoundValue, Statement } from "../../../sql/statement.ts";
import { tokensOf } from "../../../sql/statement-words.ts";
import type { StatementProblem, TextRows } from "../../engine.ts";
import { duckdbDialect } from "../dialect.ts";
import { withoutSql } from "../messages.ts";
import { extractStatements } from "../session/extract-statements.ts";
import type { SessionSettings } from "../session/session-settings.ts";
import { changedDatabase, listDatabases } from "./databases.ts";
import { describeStatement, leavesShapesAlone } from "./describe.ts";
import { errorPosition } from "./error-position.ts";
import { inspect } from "./inspect.ts";

/** Checks statements without running them, at load. It takes no query slots. */
export interface Planner {
  plan(statements: readonly Statement[]): Promise<StatementProblem | undefined>;
  /** The columns of the last statement. Undefined when they cannot be known. */
  describe(statements: readonly Statement[]): Promise<readonly Column[] | undefined>;
  parse(sql: string): Promise<StatementProblem | undefined>;
  /** Runs one of Eider's own statements about the database. All columns are text. */
  inspect(statement: Statement): Promise<TextRows>;
  /** Waits for running work. */
  close(): Promise<void>;
}

export interface PlannerOptions {
  readonly database: duckdb.Database;
  readonly settings: SessionSettings;
  readonly mask: Mask;
  /** SQL that makes the macros of every connection. */
  readonly macros: string;
}

interface PlanningConnection {
  readonly native: duckdb.Connection;
  appliedSettings: number;
}

export function openPlanner({ database, settings, mask, macros }: PlannerOptions): Planner {
  const idle: PlanningConnection[] = [];
  const busy = new Set<Promise<unknown>>();
  let closed = false;

  async function connect(): Promise<PlanningConnection> {
    const native = await duckdb.connect(database);
    await duckdb.query(native, macros);
    // Names and types are checked before the optimizer runs; without it a plan takes a third of the time.
    await duckdb.query(native, "PRAGMA disable_optimizer");
    return { native, appliedSettings: 0 };
  }

  async function onConnection<T>(work: (native: duckdb.Connection) => Promise<T>): Promise<T> {
    // A connection to a closed database crashes the process.
    if (closed) throw new RequestFailure({ kind: "draining" });
    const connection = idle.pop() ?? (await connect());
    const { native } = connection;
    try {
      if (connection.appliedSettings !== settings.count()) {
        connection.appliedSettings = await settings.apply(native, connection.appliedSettings);
      }
      return await work(native);
    } finally {
      idle.push(connection);
    }
  }

  function counted<T>(work: Promise<T>): Promise<T> {
    busy.add(work);
    return work.finally(() => busy.delete(work));
  }

  async function problemOn(
    look: (native: duckdb.Connection) => Promise<StatementProblem | undefined>,
  ): Promise<StatementProblem | undefined> {
    const problem = await onConnection(look);
    return problem && { ...problem, message: mask(problem.message) };
  }

  return {
    plan: (statements) => counted(problemOn((native) => planStatements(native, statements))),
    describe: (statements) => counted(onConnection((native) => describeLast(native, statements))),
    parse: (sql) => counted(problemOn((native) => parseStatement(native, sql))),
    inspect: (statement) => counted(onConnection((native) => inspect(native, statement))),
    async close() {
      closed = true;
      await Promise.allSettled(busy);
      for (const { native } of idle.splice(0)) duckdb.disconnect_sync(native);
    },
  };
}

async function parseStatement(native: duckdb.Connection, sql: string): Promise<StatementProblem | undefined> {
  try {
    await extractStatements(native, sql);
    return undefined;
  } catch (error) {
    return problemOf(error, sql);
  }
}

/** Plans statements in order. None that changes data runs; CREATE TEMP runs without data. */
async function planStatements(
  native: duckdb.Connection,
  statements: readonly Statement[],
): Promise<StatementProblem | undefined> {
  const [only] = statements;
  if (only !== undefined && statements.length === 1) return planStatement(native, only);
  await duckdb.query(native, "BEGIN");
  try {
    let skipped = false;
    for (const [index, statement] of statements.entries()) {
      const problem = await planStatement(native, statement);
      // A name may be missing because an earlier statement, which did not run, would have created it.
      if (problem?.kind === "names" && skipped) return undefined;
      if (problem !== undefined) return { ...problem, statement: index };
      if (!(await rehearse(native, statement))) skipped = true;
    }
    return undefined;
  } finally {
    await duckdb.query(native, "ROLLBACK");
  }
}

/** As for planning: only CREATE TEMP runs, without data. */
async function describeLast(
  native: duckdb.Connection,
  statements: readonly Statement[],
): Promise<readonly Column[] | undefined> {
  const last = statements.at(-1);
  if (last === undefined) return undefined;
  if (statements.length === 1) return describeStatement(native, last);
  await duckdb.query(native, "BEGIN");
  try {
    for (const statement of statements.slice(0, -1)) {
      if (!(await rehearse(native, statement)) && !(await leavesShapesAlone(native, statement))) return undefined;
    }
    return await describeStatement(native, last);
  } finally {
    await duckdb.query(native, "ROLLBACK");
  }
}

/** Preparing finds syntax errors and missing names, explaining with the values finds mismatched types. */
async function planStatement(native: duckdb.Connection, statement: Statement): Promise<StatementProblem | undefined> {
  const { sql, values } = statement;
  if (WRITES_WHEN_PREPARED.test(sql)) return parseStatement(native, sql);
  let mayMismatch = isExplainable(statement);
  const problem = await preparingProblem(native, sql, (prepared) => {
    mayMismatch &&= !isOfExpectedTypes(prepared, values);
  });
  if (problem !== undefined || !mayMismatch) return problem;
  const message = await failureOf(native, { ...statement, sql: EXPLAIN + sql });
  return message === undefined ? undefined : typeProblem(message, sql);
}

/** DuckDB then runs the statement as it was prepared. For other types it plans it again, which takes longer and may fail. */
function isOfExpectedTypes(prepared: duckdb.PreparedStatement, values: readonly BoundValue[]): boolean {
  return values.every(({ type }, index) => {
    const expected = duckdb.param_type(prepared, index + 1);
    return type !== "DECIMAL" && expected === duckdb.Type[type];
  });
}

const EXPLAINED = /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)*(?:with|select|from|values|insert|update|delete)\b/i;
/** DuckDB 1.5 crashes when it explains a MERGE with RETURNING, or an INSERT OR REPLACE, which is one. */
const CRASHES = /\b(?:merge|returning)\b/i;
const EXPLAIN = "EXPLAIN ";

/** EXPLAIN binds the values, as a request will: DuckDB chooses functions by their types. */
function isExplainable({ sql, values }: Statement): boolean {
  return values.length > 0 && EXPLAINED.test(sql) && !CRASHES.test(sql);
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

async function preparingProblem(
  native: duckdb.Connection,
  sql: string,
  look: (prepared: duckdb.PreparedStatement) => void = () => {},
): Promise<StatementProblem | undefined> {
  try {
    const prepared = await duckdb.prepare(native, sql);
    look(prepared);
    const type = duckdb.prepared_statement_type(prepared);
    duckdb.destroy_prepare_sync(prepared);
    return type === duckdb.StatementType.SELECT ? undefined : await readOnlyProblem(native, sql);
  } catch (error) {
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
  const problem = await preparingProblem(native, before + source);
  if (problem?.offset === undefined) return problem;
  return { ...problem, offset: problem.offset - (before + source).length + close.at + 1 };
}

/**
 * DuckDB checks only at execution whether a database is read-only. (EXPLAIN would check it too, but crashes the
 * process for a MERGE with RETURNING.)
 */
async function readOnlyProblem(native: duckdb.Connection, sql: string): Promise<StatementProblem | undefined> {
  const changed = changedDatabase(sql, await listDatabases((statement) => inspect(native, statement)));
  if (changed === undefined || !changed.readOnly) return undefined;
  const message = `the database "${changed.name}" is read-only, and this statement changes it`;
  // No earlier statement can make it valid.
  return { kind: "syntax", message, statement: 0, offset: undefined };
}

/** Preparing EXPORT creates its folder. */
const WRITES_WHEN_PREPARED = /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)*export\b/i;

const MAKES_TEMPORARY =
  /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)*create\s+(?:or\s+replace\s+)?(?:local\s+)?temp(?:orary)?\b/i;

/** Runs what later statements may need. False when it did not run. */
async function rehearse(native: duckdb.Connection, statement: Statement): Promise<boolean> {
  const { sql } = statement;
  if (!MAKES_TEMPORARY.test(sql)) return false;
  // The text of a string is not known at load. NULL can be converted to any type.
  const values = statement.values.map((bound) => (bound.type === "VARCHAR" ? { ...bound, value: null } : bound));
  const empty = await failureOf(native, { sql: `${sql}\nWITH NO DATA`, values });
  // Views, macros and tables without a query do not support WITH NO DATA, and are cheap.
  if (empty === undefined || !empty.startsWith("Parser Error")) return empty === undefined;
  return (await failureOf(native, { sql, values })) === undefined;
}

/** The message of the error that a statement ends with. */
function failureOf(native: duckdb.Connection, statement: Statement): Promise<string | undefined> {
  return inspect(native, statement).then(() => undefined, errorMessage);
}

function problemOf(error: unknown, sql: string): StatementProblem {
  const message = errorMessage(error);
  const offset = errorPosition(message, sql);
  const extension = missingExtension(message);
  const told = extension === undefined ? withoutSql(message) : extensionAdvice(extension);
  const [, missing] = DOES_NOT_EXIST.exec(message) ?? [];
  return { kind: kindOf(message), message: told, statement: 0, offset, missing };
}

const DOES_NOT_EXIST = /^Catalog Error: [\w ]+ with name (.+?) does not exist!/;

const TAKES_NO_PARAMETER =
  /^Parameter Not Allowed Error|Unexpected prepared parameter|syntax error at or near "\$\d+"|cannot have parameters|must be a constant$|Only constants are supported/m;

function kindOf(message: string): StatementProblem["kind"] {
  if (TAKES_NO_PARAMETER.test(message)) return "parameter";
  if (message.startsWith("Parser Error")) return "syntax";
  return /^(Binder|Catalog|Extension Autoloading|Missing Extension|Permission) Error/.test(message) ? "names" : "other";
}

/** The extension that a statement needs, when DuckDB's message names one. */
function missingExtension(message: string): string | undefined {
  const [, installed, required, holding] =
    /install the required extension '(\w+)'|requires the extension (\w+) to be loaded|exists in the (\w+) extension/.exec(
      message,
    ) ?? [];
  return installed ?? required ?? holding;
}

/** A request never installs an extension. */
function extensionAdvice(extension: string): string {
  return `this needs the extension '${extension}', and no connection has loaded it; write INSTALL ${extension}; LOAD ${extension} into the init of a connection`;
}
