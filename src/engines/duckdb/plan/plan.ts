import duckdb from "@duckdb/node-bindings";
import { RequestFailure } from "../../../failure.ts";
import type { Column, ColumnType } from "../../../result/column.ts";
import type { Mask } from "../../../secrets.ts";
import type { Statement } from "../../../sql/statement.ts";
import type { AssumedColumn, AssumedTable, EngineOptions, TextRows } from "../../embedded-engine.ts";
import type { StatementProblem } from "../../engine.ts";
import type { LargeScan } from "../../large-scan.ts";
import type { ServerCatalogs } from "../database/server-catalogs.ts";
import type { SessionSettings } from "../session/session-settings.ts";
import { assume } from "./assume.ts";
import { type AssumedTables, openAssumedTables } from "./assumed-tables.ts";
import { type CsvColumns, openCsvColumns } from "./csv-columns.ts";
import { describeStatement, parameterTypesOf } from "./describe.ts";
import { inspect } from "./inspect.ts";
import { largeScansIn } from "./large-scans.ts";
import { parseStatement, planStatement } from "./plan-statement.ts";
import { rehearse, rehearseAll } from "./rehearse.ts";

/** Checks statements without running them, when a project loads. It takes no query slots. */
export interface Planner {
  plan(statements: readonly Statement[]): Promise<StatementProblem | undefined>;
  /** The columns of the last statement. Undefined when they cannot be known. */
  describe(statements: readonly Statement[]): Promise<readonly Column[] | undefined>;
  /** See `Engine.assumeTable`. The catalog of assumed tables must be attached. */
  assume(table: AssumedTable, statements: readonly Statement[]): Promise<readonly AssumedColumn[] | undefined>;
  largeScans(statements: readonly Statement[]): Promise<readonly LargeScan[]>;
  /** See `EmbeddedEngine.parameterTypes`. */
  parameterTypes(sql: string): Promise<readonly (ColumnType | undefined)[]>;
  parse(sql: string): Promise<StatementProblem | undefined>;
  /** Runs one of Eider's own statements about the database. All columns must be VARCHAR. If it looks up tables, see `ServerCatalogs`. */
  inspect(statement: Statement): Promise<TextRows>;
  /** Waits for running work. */
  close(): Promise<void>;
}

export interface PlannerOptions extends Pick<EngineOptions, "fileIdentity" | "connections"> {
  readonly database: duckdb.Database;
  readonly settings: SessionSettings;
  readonly mask: Mask;
  readonly servers: Pick<ServerCatalogs, "use" | "refreshAfter">;
  /** SQL that creates the macros of every connection. */
  readonly macros: string;
}

interface PlanningConnection {
  readonly native: duckdb.Connection;
  appliedSettings: number;
}

export function openPlanner(options: PlannerOptions): Planner {
  const { database, settings, mask, servers, macros, fileIdentity, connections } = options;
  const attachesServer = connections.some(({ init }) => /postgres|mysql/i.test(init ?? ""));
  const idle: PlanningConnection[] = [];
  const busy = new Set<Promise<unknown>>();
  const assumed = openAssumedTables();
  const csvColumns = openCsvColumns(fileIdentity);
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
    try {
      await applySettings(connection);
      return await work(connection.native);
    } finally {
      idle.push(connection);
    }
  }

  /** For work that leaves temporary tables behind. */
  async function onOwnConnection<T>(work: (native: duckdb.Connection) => Promise<T>): Promise<T> {
    if (closed) throw new RequestFailure({ kind: "draining" });
    const connection = await connect();
    try {
      await applySettings(connection);
      return await work(connection.native);
    } finally {
      duckdb.disconnect_sync(connection.native);
    }
  }

  async function applySettings(connection: PlanningConnection): Promise<void> {
    if (connection.appliedSettings === settings.count()) return;
    connection.appliedSettings = await settings.apply(connection.native, connection.appliedSettings);
  }

  function track<T>(work: Promise<T>): Promise<T> {
    busy.add(work);
    return work.finally(() => busy.delete(work));
  }

  function lookUp<T>(work: () => Promise<T>): Promise<T> {
    return track(servers.use(work));
  }

  async function findProblem(
    check: (native: duckdb.Connection) => Promise<StatementProblem | undefined>,
  ): Promise<StatementProblem | undefined> {
    const problem = await onConnection(check);
    return problem && { ...problem, message: mask(problem.message) };
  }

  return {
    async plan(statements) {
      const startedAt = performance.now();
      const plan = (): Promise<StatementProblem | undefined> =>
        lookUp(() => findProblem((native) => planAssuming(native, statements, { assumed, csvColumns })));
      const problem = await plan();
      if (problem === undefined) return undefined;
      // If a server is down, calls report that.
      const mayHaveChanged = await servers.refreshAfter(problem.message, startedAt).catch(() => false);
      return mayHaveChanged ? await plan() : problem;
    },
    describe: (statements) => lookUp(() => onConnection((native) => describeAssuming(native, statements, assumed))),
    assume(table, statements) {
      const run = statements.length > 1 ? onOwnConnection : onConnection;
      return lookUp(() => assumed.inTurn(() => run((native) => assume(native, { table, statements, assumed }))));
    },
    largeScans: ([statement, ...others]) =>
      statement === undefined || others.length > 0 || !attachesServer
        ? Promise.resolve([])
        : lookUp(() => onOwnConnection((native) => findLargeScans(native, statement))),
    parameterTypes: (sql) => lookUp(() => onConnection((native) => parameterTypesOf(native, sql))),
    parse: (sql) => track(findProblem((native) => parseStatement(native, sql))),
    inspect: (statement) => track(onConnection((native) => inspect(native, statement))),
    async close() {
      closed = true;
      await Promise.allSettled(busy);
      for (const { native } of idle.splice(0)) duckdb.disconnect_sync(native);
    },
  };
}

/** Only the optimizer decides what a server is asked for. */
async function findLargeScans(native: duckdb.Connection, { sql, values }: Statement): Promise<readonly LargeScan[]> {
  await duckdb.query(native, "PRAGMA enable_optimizer");
  // A statement that cannot be explained reads no tables.
  const rows = await inspect(native, { sql: `EXPLAIN (FORMAT json) ${sql}`, values }).catch((): TextRows => []);
  return largeScansIn(rows[0]?.[1] ?? "[]");
}

/** Plans with the assumed tables. Positions and names in the problem are those of the original statements. */
async function planAssuming(
  native: duckdb.Connection,
  statements: readonly Statement[],
  { assumed, csvColumns }: { readonly assumed: AssumedTables; readonly csvColumns: CsvColumns },
): Promise<StatementProblem | undefined> {
  const rewritten = statements.map(assumed.rewrite);
  const problem = await planKnowingColumns(
    native,
    rewritten.map(({ statement }) => statement),
    csvColumns,
  );
  return (
    problem && {
      ...problem,
      message: assumed.originalMessage(problem.message),
      offset: problem.offset && rewritten[problem.statement]?.originalOffset(problem.offset),
    }
  );
}

/** If there is a problem, it is that of the statements as they are. */
async function planKnowingColumns(
  native: duckdb.Connection,
  statements: readonly Statement[],
  csvColumns: CsvColumns,
): Promise<StatementProblem | undefined> {
  const known: Statement[] = [];
  for (const statement of statements) known.push(await csvColumns.withColumns(native, statement));
  const isRewritten = known.some((each, index) => each !== statements[index]);
  if (isRewritten && (await planStatements(native, known)) === undefined) return undefined;
  return planStatements(native, statements);
}

/** Describes with the assumed tables. If that fails, without them: a table whose columns could not be assumed may exist. */
async function describeAssuming(
  native: duckdb.Connection,
  statements: readonly Statement[],
  assumed: AssumedTables,
): Promise<readonly Column[] | undefined> {
  const rewritten = statements.map((each) => assumed.rewrite(each).statement);
  const columns = await describeLast(native, rewritten);
  const isRewritten = rewritten.some((each, index) => each !== statements[index]);
  return columns === undefined && isRewritten ? describeLast(native, statements) : columns;
}

/** Plans statements in order. Those that change data are not run; CREATE TEMP runs without data. */
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

/** Describes the last statement. As in planning, only CREATE TEMP runs, without data. */
async function describeLast(
  native: duckdb.Connection,
  statements: readonly Statement[],
): Promise<readonly Column[] | undefined> {
  const last = statements.at(-1);
  if (last === undefined) return undefined;
  if (statements.length === 1) return describeStatement(native, last);
  await duckdb.query(native, "BEGIN");
  try {
    return (await rehearseAll(native, statements.slice(0, -1))) ? await describeStatement(native, last) : undefined;
  } finally {
    await duckdb.query(native, "ROLLBACK");
  }
}
