import { RequestFailure } from "../../failure.ts";
import type { Chunk } from "../../result/chunk.ts";
import { effectsOf } from "../../sql/classify.ts";
import type { Statement } from "../../sql/statement.ts";
import { tokensOf } from "../../sql/statement-words.ts";
import type { Read, Window } from "../engine.ts";
import { NOT_WATCHED, type Rows } from "../rows.ts";
import { postgresDialect } from "./dialect.ts";
import { CHUNK_ROWS, collectRows } from "./row-collector.ts";
import type { Session, Step } from "./session.ts";
import { streamRows } from "./stream-rows.ts";
import { countQuery, EVERYTHING, type QueryForms, type WindowedQuery, windowedQuery } from "./window.ts";

export interface ReadContext {
  readonly session: Session;
  readonly forms: QueryForms;
  readonly maxValueBytes: number;
  /** Whether sessions keep their settings. Otherwise, each read sets them in a transaction. */
  readonly keepsSessions: boolean;
  /** Commands at the start of each transaction, such as the caller's identity. With any, each read is a transaction. */
  readonly preamble: readonly Step[];
  readonly failureOf: (error: unknown) => RequestFailure;
}

const PAGE_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";
/** Ends a read: what it created is temporary. */
const END: Step = { run: "ROLLBACK" };

/** Runs a read. The rows end the session. */
export async function readRows(read: Read, context: ReadContext): Promise<Rows> {
  const { session, keepsSessions, preamble } = context;
  const { statements, totalOf } = read;
  const last = statements.at(-1);
  if (last === undefined)
    throw new RequestFailure({ kind: "query-failed", message: "The template holds no statement." });
  const leading = statements.slice(0, -1);
  const begin: readonly Step[] = [{ run: beginOf(read) }, ...preamble];
  if (leading.length > 0 || !keepsSessions) return await readInSteps(read, last, { ...context, begin });
  if (totalOf !== undefined) return await readPage(read, last, { ...context, begin });
  const query = await windowedQuery(last, read.window, context);
  return await streamRows(query, {
    ...context,
    before: preamble.length > 0 ? begin : [],
    after: preamble.length > 0 ? [END] : [],
    total: undefined,
    session,
  });
}

interface Transaction extends ReadContext {
  /** The steps that open the transaction. */
  readonly begin: readonly Step[];
}

/** Temporary tables need a transaction that may write; what else it writes is rolled back. */
function beginOf({ statements, totalOf = [] }: Read): string {
  const texts = [...statements, ...totalOf].map(({ sql }) => sql);
  const createsTemporary = texts.some((sql) => tokensOf(sql, postgresDialect)[0]?.text === "CREATE");
  if (createsTemporary && effectsOf(texts, postgresDialect).every(({ kind }) => kind === "reads"))
    return "BEGIN ISOLATION LEVEL REPEATABLE READ, READ WRITE";
  return PAGE_SNAPSHOT;
}

/** A page with its total, from one snapshot. */
async function readPage(read: Read, last: Statement, context: Transaction): Promise<Rows> {
  const { session, forms, begin, preamble } = context;
  const { window = EVERYTHING, totalOf, statements } = read;
  const counted = totalOf === statements ? last : (totalOf?.at(-1) ?? last);
  const query = await windowedQuery(last, window, context);
  const isOwnTotal = counted === last;
  const { limit } = window;
  if (isOwnTotal && limit !== undefined && limit <= CHUNK_ROWS && forms.fullPages.get(last.sql) !== true) {
    // A page with fewer rows than the limit reveals the total, unless it is empty and not the first.
    const page = await readHeld(query, {
      ...context,
      before: preamble.length > 0 ? begin : [],
      after: preamble.length > 0 ? [END] : [],
    });
    const total = totalOfPage(page, query, window);
    if (total !== undefined) {
      await session.end();
      return heldRows(page, query, total);
    }
    forms.fullPages.set(last.sql, true);
  }
  const count = await countQuery(counted, context);
  if (count === undefined) return await readAlone(read, last, context);
  let total = 0;
  const countStep: Step = { run: count, onRow: (bytes, start) => (total = Number(bytes.readBigInt64BE(start + 6))) };
  return await streamRows(query, {
    ...context,
    before: [...begin, countStep],
    after: [END],
    total: () => total,
    session,
  });
}

interface HeldPage {
  readonly chunks: readonly Chunk[];
  /** Rows inside the window. */
  readonly rows: number;
  /** Rows that the server sent. */
  readonly sent: number;
}

function totalOfPage(
  { rows, sent }: HeldPage,
  { cut }: WindowedQuery,
  { limit = 0, offset }: Window,
): number | undefined {
  // The reader cut the window: the server may have stopped at its end.
  if (cut !== EVERYTHING) return sent < offset + limit ? sent : undefined;
  return rows < limit && (rows > 0 || offset === 0) ? offset + rows : undefined;
}

interface HeldOptions extends ReadContext {
  readonly before: readonly Step[];
  readonly after: readonly Step[];
}

async function readHeld(
  { prepared, cut }: WindowedQuery,
  { session, maxValueBytes, before, after }: HeldOptions,
): Promise<HeldPage> {
  const chunks: Chunk[] = [];
  const collector = collectRows(prepared, { window: cut, maxValueBytes, onChunk: (chunk) => void chunks.push(chunk) });
  const maxRows = cut.limit === undefined ? undefined : cut.offset + cut.limit;
  await session.run([...before, { run: prepared, maxRows, onRow: collector.row }, ...after]);
  collector.flush();
  return { chunks, rows: chunks.reduce((sum, chunk) => sum + chunk.rows, 0), sent: collector.count() };
}

function heldRows({ chunks }: HeldPage, { prepared }: WindowedQuery, total: number | undefined): Rows {
  const left = [...chunks];
  return {
    columns: prepared.columns,
    total,
    watch: NOT_WATCHED,
    next: () => left.shift(),
    close() {
      left.length = 0;
    },
  };
}

/** Statements that cannot be a sub-query, such as EXPLAIN: their results are small, and all their rows are counted. */
async function readAlone(read: Read, last: Statement, context: Transaction): Promise<Rows> {
  const { session, maxValueBytes, begin } = context;
  const prepared = await session.prepare(last);
  const chunks: Chunk[] = [];
  const collector = collectRows(prepared, {
    window: read.window ?? EVERYTHING,
    maxValueBytes,
    onChunk: (chunk) => void chunks.push(chunk),
  });
  await session.run([...(session.isInTransaction() ? [] : begin), { run: prepared, onRow: collector.row }, END]);
  collector.flush();
  await session.end();
  const total = read.totalOf === undefined ? undefined : collector.count();
  return heldRows({ chunks, rows: 0, sent: 0 }, { prepared, cut: EVERYTHING }, total);
}

/** Several statements: each is prepared after those before it have run, because it may need their tables. */
async function readInSteps(read: Read, last: Statement, context: Transaction): Promise<Rows> {
  const { session, begin } = context;
  const { totalOf, statements } = read;
  await session.run(begin);
  let total: number | undefined;
  if (totalOf !== undefined && totalOf !== statements) {
    await session.run([{ run: "SAVEPOINT total" }]);
    total = await countLast(totalOf, context);
    // The names of temporary tables are needed again.
    await session.run([{ run: "ROLLBACK TO SAVEPOINT total" }]);
  }
  for (const statement of statements.slice(0, -1)) await runOne(statement, session);
  if (totalOf === statements) total = await countLast([last], context);
  const query = await windowedQuery(last, read.window, context);
  return await streamRows(query, {
    ...context,
    before: [],
    after: [END],
    total: totalOf && (() => total ?? 0),
    session,
  });
}

async function countLast(statements: readonly Statement[], context: ReadContext): Promise<number> {
  const { session } = context;
  const last = statements.at(-1);
  if (last === undefined) return 0;
  for (const statement of statements.slice(0, -1)) await runOne(statement, session);
  let total = 0;
  const count = await countQuery(last, context);
  if (count !== undefined)
    await session.run([{ run: count, onRow: (bytes, start) => (total = Number(bytes.readBigInt64BE(start + 6))) }]);
  else await session.run([{ run: await session.prepare(last), onRow: () => (total += 1) }]);
  return total;
}

async function runOne(statement: Statement, session: Session): Promise<void> {
  await session.run([{ run: await session.prepare(statement) }]);
}
