import type { Eventually } from "../../../eventually.ts";
import { RequestFailure } from "../../../failure.ts";
import type { Statement } from "../../../sql/statement.ts";
import type { Read } from "../../engine.ts";
import type { Session } from "../session/session.ts";
import { countRows, type Total } from "./read-context.ts";

/** The transaction of a read. All statements but the last run first, and may create temporary tables that the last one reads. */
export interface ReadTransaction {
  /** The statement that returns the rows. */
  readonly last: Statement;
  /** Begins the transaction and runs the leading statements, unless that is already done. */
  start(): Promise<void>;
  /** Rolls back whatever is open, then starts again. */
  restart(): Promise<void>;
}

export function readTransactionOf({ statements }: Read, session: Session): ReadTransaction {
  const last = statements.at(-1);
  if (last === undefined)
    throw new RequestFailure({ kind: "query-failed", message: "The template holds no statement." });
  let isStarted = false;
  async function start(): Promise<void> {
    if (isStarted) return;
    isStarted = true;
    await session.begin();
    for (const statement of statements.slice(0, -1)) await session.execute(statement);
  }
  return {
    last,
    start,
    async restart() {
      await session.rollback();
      isStarted = false;
      await start();
    },
  };
}

/** Where the total comes from. If a template pages itself, another statement yields all its rows: they are counted right away. */
export function findTotal(read: Read, session: Session, transaction: ReadTransaction): Eventually<Total> {
  if (read.totalOf === undefined) return { kind: "none" };
  if (read.totalOf === read.statements) return { kind: "own" };
  const leading = read.totalOf.slice(0, -1);
  const counted = read.totalOf.at(-1);
  return counted === undefined ? { kind: "none" } : countSeparately(read, { leading, counted }, session, transaction);
}

async function countSeparately(
  read: Read,
  { leading, counted }: { readonly leading: readonly Statement[]; readonly counted: Statement },
  session: Session,
  transaction: ReadTransaction,
): Promise<Total> {
  if (leading.every((statement, index) => isSameStatement(statement, read.statements[index]))) {
    await transaction.start();
    return { kind: "known", rows: await countRows(session, counted) };
  }
  // The leading statements of both would create the same temporary tables, and DuckDB has no savepoints: use two transactions.
  await session.begin();
  for (const statement of leading) await session.execute(statement);
  const rows = await countRows(session, counted);
  await transaction.restart();
  return { kind: "known", rows };
}

function isSameStatement(one: Statement, other: Statement | undefined): boolean {
  return (
    one.sql === other?.sql &&
    one.values.length === other.values.length &&
    one.values.every(({ type, value }, index) => {
      const bound = other.values[index];
      return type === bound?.type && value === bound.value;
    })
  );
}
