import duckdb from "@duckdb/node-bindings";
import { errorMessage } from "../../../error-message.ts";
import { RequestFailure } from "../../../failure.ts";
import type { Column } from "../../../result/column.ts";
import type { Mask } from "../../../secrets.ts";
import type { Statement } from "../../../sql/statement.ts";
import type { StatementProblem, TextRows } from "../../engine.ts";
import { withoutSql } from "../messages.ts";
import { extractStatements } from "../session/extract-statements.ts";
import type { SessionSettings } from "../session/session-settings.ts";
import { changedDatabase, listDatabases } from "./databases.ts";
import { describeStatement, leavesShapesAlone } from "./describe.ts";
import { errorPosition } from "./error-position.ts";
import { inspect } from "./inspect.ts";

/** Looks at statements without running them, at load: beside the queries, and without their limits. */
export interface Planner {
  plan(statements: readonly Statement[]): Promise<StatementProblem | undefined>;
  /** The columns of the last statement. Undefined when they cannot be known. */
  describe(statements: readonly Statement[]): Promise<readonly Column[] | undefined>;
  parse(sql: string): Promise<StatementProblem | undefined>;
  /** Runs a statement of ours that reads about the database, and gives its rows, all of them text. */
  inspect(statement: Statement): Promise<TextRows>;
  /** Waits for what is under way. */
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
    // Whether names and types fit is known before the optimizer; without it a plan costs a third.
    await duckdb.query(native, "PRAGMA disable_optimizer");
    return { native, appliedSettings: 0 };
  }

  async function onConnection<T>(work: (native: duckdb.Connection) => Promise<T>): Promise<T> {
    // A connection to a database that is closed ends the process.
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

/** Plans statements in order. What changes data is never run; what makes temporary tables is run without data. */
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
      // A name may be missing because a statement before, which was not run, would have made it.
      if (problem?.kind === "names" && skipped) return undefined;
      if (problem !== undefined) return { ...problem, statement: index };
      if (!(await rehearse(native, statement))) skipped = true;
    }
    return undefined;
  } finally {
    await duckdb.query(native, "ROLLBACK");
  }
}

/** As for planning: what makes temporary tables is run without data, nothing else is. */
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

/** Preparing finds what does not parse, and names that are not there. */
async function planStatement(native: duckdb.Connection, statement: Statement): Promise<StatementProblem | undefined> {
  const { sql } = statement;
  if (WRITES_WHEN_PREPARED.test(sql)) return parseStatement(native, sql);
  try {
    const prepared = await duckdb.prepare(native, sql);
    const type = duckdb.prepared_statement_type(prepared);
    duckdb.destroy_prepare_sync(prepared);
    return type === duckdb.StatementType.SELECT ? undefined : await readOnlyProblem(native, sql);
  } catch (error) {
    // Several statements at once: what DuckDB makes of PIVOT, which can only be planned with the data.
    return errorMessage(error).includes("Cannot prepare multiple statements") ? undefined : problemOf(error, sql);
  }
}

/**
 * DuckDB looks only when a statement runs whether its database may be changed. (Explaining it would tell as well, and ends the
 * process for a MERGE with RETURNING.)
 */
async function readOnlyProblem(native: duckdb.Connection, sql: string): Promise<StatementProblem | undefined> {
  const changed = changedDatabase(sql, await listDatabases((statement) => inspect(native, statement)));
  if (changed === undefined || !changed.readOnly) return undefined;
  const message = `the database "${changed.name}" is read-only, and this statement changes it`;
  // Nothing that comes before it can make it right.
  return { kind: "syntax", message, statement: 0, offset: undefined };
}

/** Preparing it makes its folder. */
const WRITES_WHEN_PREPARED = /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)*export\b/i;

const MAKES_TEMPORARY =
  /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)*create\s+(?:or\s+replace\s+)?(?:local\s+)?temp(?:orary)?\b/i;

/** Runs what later statements may need. False when it was left alone. */
async function rehearse(native: duckdb.Connection, { sql, values }: Statement): Promise<boolean> {
  if (!MAKES_TEMPORARY.test(sql)) return false;
  const empty = await failureOf(native, { sql: `${sql}\nWITH NO DATA`, values });
  // Views, macros and tables without a query do not know WITH NO DATA, and cost nothing.
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
  return { kind: kindOf(message), message: told, statement: 0, offset };
}

function kindOf(message: string): StatementProblem["kind"] {
  if (/^Parameter Not Allowed Error|Unexpected prepared parameter|syntax error at or near "\$\d+"/.test(message)) {
    return "parameter";
  }
  if (message.startsWith("Parser Error")) return "syntax";
  return /^(Binder|Catalog|Extension Autoloading|Missing Extension|Permission) Error/.test(message) ? "names" : "other";
}

/** The extension that DuckDB says a statement needs, when that is what it says. */
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
