import duckdb from "@duckdb/node-bindings";
import { quoteIdentifier } from "../../../sql/quote.ts";
import type { Statement } from "../../../sql/statement.ts";
import type { TextRows } from "../../embedded-engine.ts";
import type { WriteOnce, WriteProgress } from "../../write-once.ts";
import { inspect, textRows } from "../plan/inspect.ts";
import type { Session } from "../session/session.ts";
import { withConnection } from "../session/with-connection.ts";
import {
  createStatements,
  deleteOldStatement,
  deleteStatement,
  findStatement,
  insertStatement,
  OLD_TABLES,
  oldProbe,
  type RecordRow,
  type RecordTable,
  upgradeStatements,
} from "./record-sql.ts";

/** The tables in which records are kept. */
export interface WriteRecords {
  /** The table of a database, created if missing. Expired records are deleted when it is opened, and every hour. */
  open(session: Session, once: WriteOnce): Promise<RecordTable>;
  /** The table may be broken: the next write checks it again. */
  forget(database: string): void;
}

const CLEAN_EVERY_MS = 60 * 60 * 1000;

export function openWriteRecords(): WriteRecords {
  const opened = new Map<string, { readonly table: RecordTable; readonly cleanedAt: number }>();
  return {
    async open(session, once) {
      if (once.store.kind !== "database") throw new Error("memory has no table");
      const { name, type } = once.store;
      const known = opened.get(name);
      if (known !== undefined && Math.abs(once.now - known.cleanedAt) <= CLEAN_EVERY_MS) return known.table;
      // Concurrent requests do the same: none waits for another client's request.
      const table = await openTable(session, { database: name, type });
      opened.set(name, { table, cleanedAt: once.now });
      // On failure, it is repeated in an hour or by another replica.
      await inTransaction(session, [deleteOldStatement(table, once.oldest)]).catch(() => session.rollback());
      return table;
    },
    forget: (database) => void opened.delete(database),
  };
}

/** Upgrades tables of an earlier version in the main database: they hold the text of requests. */
export async function upgradeRecords(database: duckdb.Database): Promise<void> {
  await withConnection(database, async (connection) => {
    for (const [name, schema] of await inspect(connection, OLD_TABLES)) {
      const table: RecordTable = { database: name ?? "", type: "duckdb" };
      const sql = upgradeStatements(table, schema ?? undefined).map((statement) => statement.sql);
      await duckdb.query(connection, `BEGIN; ${sql.join("; ")}; COMMIT; CHECKPOINT ${quoteIdentifier(table.database)}`);
    }
    // On failure, the first write with a key retries it.
  }).catch(() => {});
}

async function openTable(session: Session, table: RecordTable): Promise<RecordTable> {
  if (await succeeds(session, findStatement(table, ["", ""]))) return table;
  if (table.type === "duckdb" && (await succeeds(session, oldProbe(table)))) {
    await inTransaction(session, upgradeStatements(table));
    return table;
  }
  try {
    for (const statement of createStatements(table)) await session.execute(statement);
  } catch (error) {
    // Another replica may have created it meanwhile.
    if (!(await succeeds(session, findStatement(table, ["", ""])))) throw error;
  }
  return table;
}

async function succeeds(session: Session, statement: Statement): Promise<boolean> {
  try {
    await session.execute(statement);
    return true;
  } catch {
    session.cancellation.check();
    return false;
  }
}

async function inTransaction(session: Session, statements: readonly Statement[]): Promise<void> {
  await session.begin();
  for (const statement of statements) await session.execute(statement);
  await session.commit();
}

async function rowsOf(session: Session, statement: Statement): Promise<TextRows> {
  return await textRows(await session.execute(statement));
}

/** The id of a row: for 0 that of the whole write, otherwise that of a statement that committed by itself. */
export function rowId(once: WriteOnce, step: number): string {
  return step === 0 ? once.id : `${once.id}.${step}`;
}

/** The rows of a write. Expired ones are deleted: their ids are needed again. */
export async function findRows(
  session: Session,
  table: RecordTable,
  { once, steps }: { readonly once: WriteOnce; readonly steps: number },
): Promise<readonly RecordRow[]> {
  // At least two ids: DuckDB compares a single one in a way that keeps Postgres from using its index.
  const ids = Array.from({ length: Math.max(2, steps + 1) }, (_, step) => rowId(once, step));
  const rows = (await rowsOf(session, findStatement(table, ids))).map(rowOf);
  const expired = rows.filter(({ since }) => since < once.oldest);
  for (const { id } of expired) await session.execute(deleteStatement(table, id));
  return rows.filter((row) => !expired.includes(row));
}

export function addRow(session: Session, table: RecordTable, row: RecordRow): Promise<unknown> {
  return session.execute(insertStatement(table, row));
}

function rowOf([id, request, changed, response, since]: TextRows[number]): RecordRow {
  return {
    id: id ?? "",
    request: request ?? "",
    changed: Number(changed ?? 0),
    response: response ?? undefined,
    since: Number(since ?? 0),
  };
}

/** How far a write has come, according to its rows. */
export function progressOf(rows: readonly RecordRow[], once: WriteOnce): WriteProgress | undefined {
  const whole = rows.find(({ id }) => id === once.id);
  if (whole !== undefined) {
    return { request: whole.request, done: "all", rowsAffected: whole.changed, response: whole.response };
  }
  const last = rows.toSorted((a, b) => a.id.length - b.id.length || Number(a.id > b.id) - Number(a.id < b.id)).at(-1);
  if (last === undefined) return undefined;
  const done = Number(last.id.slice(once.id.length + 1));
  return { request: last.request, done, rowsAffected: last.changed, response: last.response };
}
