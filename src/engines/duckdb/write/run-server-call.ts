import type duckdb from "@duckdb/node-bindings";
import { errorMessage } from "../../../error-message.ts";
import { RequestFailure } from "../../../failure.ts";
import { type Statement, statement, textValue } from "../../../sql/statement.ts";
import type { TextRows } from "../../embedded-engine.ts";
import type { StatementProblem } from "../../engine.ts";
import { textRows } from "../plan/inspect.ts";
import type { Session } from "../session/session.ts";
import { KEEP_ROW_COUNT, KEPT_ROW_COUNT as MYSQL_ROW_COUNT } from "./mysql-rows.ts";
import { countingSql, originalMessage, KEPT_ROW_COUNT as POSTGRES_ROW_COUNT } from "./postgres-rows.ts";
import { callProblem, type ServerCall, serverCallIn, type UncountableCall } from "./server-call.ts";

/** The result of a call, and how many rows it changed, which DuckDB does not tell. */
interface CallResult {
  readonly result: duckdb.Result;
  readonly changed: number;
}

/** Runs a call of `postgres_execute` or `mysql_execute` in the open transaction. */
export async function runServerCall(
  call: ServerCall | UncountableCall,
  original: Statement,
  session: Session,
): Promise<CallResult> {
  if (call.kind === "uncountable") throw uncountable(call.problem);
  // Messages show the statement of the template, whichever of these fails.
  const execute = (one: Statement): Promise<duckdb.Result> => session.execute(one, original);
  const [args = []] = await textRows(await execute({ sql: call.argumentsSql, values: original.values }));
  const problem = callProblem(call.server, args);
  if (problem !== undefined) throw uncountable(problem);
  const [database = null, sql = null] = args;
  const keptCount = async (query: Statement): Promise<number> => Number((await textRows(await execute(query)))[0]?.[0]);
  if (call.server === "mysql") {
    const result = await execute(original);
    await execute(statement("CALL mysql_execute($1, $2)", textValue(database), textValue(KEEP_ROW_COUNT)));
    // A streamed result would come from another session.
    const query = "SELECT n::VARCHAR FROM mysql_query($1, $2, stream_results := false)";
    return { result, changed: await keptCount(statement(query, textValue(database), textValue(MYSQL_ROW_COUNT))) };
  }
  const counting = sql === null ? undefined : countingSql(sql);
  if (sql === null || counting === undefined) return { result: await execute(original), changed: 0 };
  const counted = statement("CALL postgres_execute($1, $2)", textValue(database), textValue(counting));
  const result = await execute(counted).catch((error: unknown) => {
    throw new Error(originalMessage(errorMessage(error), { counting, sql }));
  });
  const query = "SELECT n FROM postgres_query($1, $2)";
  return { result, changed: await keptCount(statement(query, textValue(database), textValue(POSTGRES_ROW_COUNT))) };
}

function uncountable(message: string): RequestFailure {
  return new RequestFailure({ kind: "query-failed", message });
}

/** Why the rows that these statements change cannot be counted. */
export async function findCountProblem(
  statements: readonly Statement[],
  inspect: (statement: Statement) => Promise<TextRows>,
): Promise<StatementProblem | undefined> {
  for (const [index, { sql, values }] of statements.entries()) {
    const call = serverCallIn(sql);
    if (call === undefined) continue;
    const message =
      call.kind === "uncountable"
        ? call.problem
        : // An error in the arguments depends on the values.
          await inspect({ sql: call.argumentsSql, values }).then(
            ([args = []]) => callProblem(call.server, args),
            () => undefined,
          );
    if (message !== undefined) return { kind: "syntax", message, statement: index, offset: call.at };
  }
  return undefined;
}
