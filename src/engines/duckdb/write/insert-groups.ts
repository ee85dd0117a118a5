import { openLru } from "../../../bounded/lru.ts";
import { RequestFailure } from "../../../failure.ts";
import { type RowInsert, rowInsertOf } from "../../../sql/row-insert.ts";
import type { Write } from "../../engine.ts";
import type { WriteResult } from "../../rows.ts";
import { openStop } from "../../stop.ts";
import { duckdbDialect } from "../dialect.ts";
import { hasLongValues } from "../session/bind-values.ts";

/**
 * Concurrent inserts of one row each with the same SQL run as one INSERT of several rows: one plan and one commit for all. The
 * first one runs at once. Those that arrive meanwhile wait for it and then run together. If a group fails, each of its inserts runs
 * by itself, so that each has its own result.
 */
export interface InsertGroups {
  write(write: Write): Promise<WriteResult>;
  /** How many inserts wait for the one before them. */
  waiting(): number;
}

export interface InsertGroupsOptions {
  /** `check` is called once the connections are open. It throws if the write must not run. */
  readonly run: (write: Write, check?: () => void) => Promise<WriteResult>;
  /** Whether a statement changes only databases of DuckDB itself: others, such as Postgres, may have triggers. */
  readonly isInDuckDb: (sql: string) => boolean;
}

/** When this many wait, others do not join them: they wait for a slot, whose queue has its own limit. */
const MAX_ROWS = 32;
const MAX_VALUES = 1_000;
/** Each number of rows is a statement to prepare, so groups larger than this are multiples of it. */
const STEP = 8;
/** Of SQL strings; what is known about each takes several times its size. */
const MAX_BYTES = 256 * 1024;
/** After any other error, nothing is committed. */
const MAY_BE_COMMITTED = /^(?:FATAL|INTERNAL|IO|TransactionContext) Error: /;

interface Member {
  readonly write: Write;
  readonly resolve: (result: WriteResult | Promise<WriteResult>) => void;
  readonly reject: (error: unknown) => void;
  /** Stops its group, once that runs. */
  stopGroup: ((reason: unknown) => void) | undefined;
}

export function openInsertGroups({ run, isInDuckDb }: InsertGroupsOptions): InsertGroups {
  const inserts = openLru<RowInsert | "other">({ maxBytes: MAX_BYTES });
  /** Those that wait, for each insert that runs. */
  const queues = new Map<string, Set<Member>>();
  let waiting = 0;

  function insertOf({ statements, transaction, checkRowCount, signal }: Write): RowInsert | undefined {
    const [only] = statements;
    if (only === undefined || statements.length > 1 || !transaction || checkRowCount !== undefined) return undefined;
    const { sql, values } = only;
    if (values.length === 0 || hasLongValues(values) || signal.aborted) return undefined;
    const known = inserts.get(sql);
    const insert = known ?? rowInsertOf(sql, values.length, duckdbDialect) ?? "other";
    if (known === undefined) inserts.set(sql, insert);
    return insert === "other" || !isInDuckDb(sql) ? undefined : insert;
  }

  function wait(write: Write, queue: Set<Member>): Promise<WriteResult> {
    const { signal } = write;
    return new Promise((resolve, reject) => {
      const member: Member = { write, resolve, reject, stopGroup: undefined };
      queue.add(member);
      waiting++;
      signal.addEventListener("abort", () => {
        member.stopGroup?.(signal.reason);
        if (!queue.delete(member)) return;
        waiting--;
        reject(signal.reason);
      });
    });
  }

  async function runQueue(key: string, queue: Set<Member>, insert: RowInsert): Promise<void> {
    while (queue.size > 0) {
      const size = queue.size > STEP ? queue.size - (queue.size % STEP) : queue.size;
      const members = [...queue].slice(0, size);
      for (const member of members) queue.delete(member);
      waiting -= size;
      await runMembers(members, insert);
    }
    queues.delete(key);
  }

  async function runMembers(members: readonly Member[], insert: RowInsert): Promise<void> {
    const [first] = members;
    if (first === undefined) return;
    if (members.length > 1) {
      try {
        const [{ sql } = { sql: "" }] = first.write.statements;
        await run(groupOf(first.write, members, insert), () => {
          // It may have been attached meanwhile.
          if (!isInDuckDb(sql)) throw new RequestFailure({ kind: "conflict" });
        });
        for (const { resolve } of members) resolve({ rowsAffected: 1, rows: undefined });
        return;
      } catch (error) {
        if (mayBeCommitted(error)) {
          for (const { reject } of members) reject(error);
          return;
        }
      }
    }
    await Promise.allSettled(
      members.map(({ write, resolve }) => {
        const result = run(write);
        resolve(result);
        return result;
      }),
    );
  }

  return {
    async write(write) {
      const insert = insertOf(write);
      if (insert === undefined) return await run(write);
      const key = keyOf(write);
      const queue = queues.get(key);
      if (queue !== undefined) return await (queue.size < maxRows(write) ? wait(write, queue) : run(write));
      const others = new Set<Member>();
      queues.set(key, others);
      try {
        return await run(write);
      } finally {
        void runQueue(key, others, insert);
      }
    },
    waiting: () => waiting,
  };
}

/** Inserts that can run together: with the same SQL, on the same connections, in the same queue group. */
function keyOf({ queueGroup, connections, statements }: Write): string {
  return [queueGroup?.name, ...connections, statements[0]?.sql].join("\0");
}

function maxRows({ statements }: Write): number {
  return Math.min(MAX_ROWS, Math.floor(MAX_VALUES / (statements[0]?.values.length ?? 1)));
}

/** One INSERT for all. It is interrupted when one of them is cancelled: the others then run without it. */
function groupOf(first: Write, members: readonly Member[], insert: RowInsert): Write {
  const writes = members.map(({ write }) => write);
  const stop = openStop();
  for (const member of members) member.stopGroup = stop.abort;
  return {
    ...first,
    statements: [
      {
        sql: insert.withRows(writes.length),
        values: writes.flatMap(({ statements }) => statements.flatMap(({ values }) => values)),
      },
    ],
    signal: stop.signal,
    onStart() {
      for (const { onStart } of writes) onStart?.();
    },
  };
}

function mayBeCommitted(error: unknown): boolean {
  if (!(error instanceof RequestFailure)) return true;
  const { failure } = error;
  return failure.kind === "query-failed" && MAY_BE_COMMITTED.test(failure.message);
}
