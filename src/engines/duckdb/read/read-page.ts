import duckdb from "@duckdb/node-bindings";
import type { Statement } from "../../../sql/statement.ts";
import type { Rows } from "../../rows.ts";
import { EVERYTHING, heldRows } from "../load/held-rows.ts";
import { countRows, type ReadContext } from "./read-context.ts";
import { noteSize } from "./read-small.ts";
import { windowedQuery } from "./windowed-query.ts";

/** A page and, if wanted, the total number of rows, both from the same data. */
interface CountedPage {
  readonly result: duckdb.Result;
  readonly total: number | undefined;
}

/** Reads a page of at most `limit` rows as a whole. Undefined: the statement cannot be a sub-query. */
export async function readPage(context: ReadContext, limit: number): Promise<Rows | undefined> {
  const { session, hints, last, window, signal, total, watch, maxValueBytes } = context;
  const needsTotal = total.kind === "own";
  const expectsFull = limit === 0 || hints.fullPages.get(last.sql) === true;
  const page = await windowedQuery(last, window, context);
  if (page === undefined) return undefined;
  const { result, total: totalRows } = needsTotal
    ? ((expectsFull
        ? ((await readWithCachedTotal(context, page)) ?? (await readConcurrently(context, page)))
        : undefined) ?? (await readCounted(context, page, { limit, expectsFull })))
    : { result: await session.execute(page), total: total.kind === "known" ? total.rows : undefined };
  if (!needsTotal && window.offset === 0 && duckdb.row_count(result) < limit) {
    noteSize(hints, last.sql, duckdb.row_count(result));
  }
  await session.end();
  return heldRows(result, { total: totalRows, window: EVERYTHING, signal, watch, maxValueBytes });
}

/** Reads only the page, if its total is cached and stays valid while the page is read. */
async function readWithCachedTotal(context: ReadContext, page: Statement): Promise<CountedPage | undefined> {
  const { session, last, totals } = context;
  const known = session.inTransaction() ? undefined : totals.get(last);
  if (known === undefined) return undefined;
  const result = await session.execute(page);
  if (totals.get(last) !== known) return undefined;
  totals.noteHit();
  return { result, total: known.rows };
}

/**
 * Reads the page and the count concurrently, on two connections. If the query's tables did not change meanwhile, both saw
 * the same data; otherwise, or where that is unknown, undefined.
 */
async function readConcurrently(context: ReadContext, page: Statement): Promise<CountedPage | undefined> {
  const { session, last, totals } = context;
  const moment = totals.now();
  if (session.inTransaction() || !totals.unchangedSince(moment, last)) return undefined;
  const sibling = await context.sibling();
  if (sibling === undefined) return undefined;
  const works = [session.execute(page), countRows(sibling, last)] as const;
  const [result, total] = await allOrStop(works, (error) => {
    for (const { cancellation } of [session, sibling]) cancellation.cancel(error);
  }).finally(() => sibling.end());
  if (!totals.unchangedSince(moment, last)) return undefined;
  totals.keep(last, total, moment);
  return { result, total };
}

/** If one fails, stops the other and waits for its end, because its connection is used again. Rejects with the first error. */
export async function allOrStop<A, B>(
  works: readonly [Promise<A>, Promise<B>],
  stop: (error: unknown) => void,
): Promise<[A, B]> {
  try {
    return await Promise.all(works);
  } catch (error) {
    stop(error);
    await Promise.allSettled(works);
    throw error;
  }
}

/**
 * Reads the page, then the count, in one transaction. A page with fewer rows than the limit reveals the total, unless it is empty
 * and not the first: if so, there is nothing to count, and no second statement that would need the same transaction.
 */
async function readCounted(
  context: ReadContext,
  page: Statement,
  { limit, expectsFull }: { readonly limit: number; readonly expectsFull: boolean },
): Promise<CountedPage> {
  const { session, hints, last, window, totals } = context;
  const ownTransaction = !session.inTransaction();
  let moment = totals.now();
  if (expectsFull) await context.start();
  let result = await session.execute(page);
  const found = duckdb.row_count(result);
  if (found < limit && (found > 0 || window.offset === 0)) {
    if (window.offset === 0) {
      hints.fullPages.delete(last.sql);
      noteSize(hints, last.sql, found);
    }
    return { result, total: window.offset + found };
  }
  if (limit > 0) hints.fullPages.set(last.sql, true);
  if (!session.inTransaction()) {
    // The page was read outside the transaction. It is read again, so that page and count match.
    moment = totals.now();
    await context.start();
    result = await session.execute(page);
  }
  const total = await countRows(session, last);
  if (ownTransaction) totals.keep(last, total, moment);
  return { result, total };
}
