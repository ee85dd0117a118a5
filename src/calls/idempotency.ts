import type { Engine, StopSignal, Written } from "../engines/engine.ts";
import { RequestFailure } from "../failure.ts";
import type { BoundValue, Statement } from "../sql/statement.ts";

/** A request that its client may send again, not knowing what became of it. */
export interface RepeatableRequest {
  /** Endpoint and caller: keys of others are others. */
  readonly scope: string;
  /** What the client calls it, in `Idempotency-Key`. */
  readonly key: string;
  /** What else it says: the same key with other contents is a mistake. */
  readonly fingerprint: string;
}

/** Runs a write; what `record` makes of its outcome is committed with it. */
export type RunRecorded = (record?: (written: Written) => Promise<Statement>) => Promise<Written>;

/** Answers to writes by the keys of their clients, so that none is run twice. */
export interface IdempotentAnswers {
  once(
    request: RepeatableRequest,
    work: {
      readonly run: RunRecorded;
      readonly encode: (written: Written) => Promise<string>;
      readonly signal: StopSignal;
    },
  ): Promise<string>;
}

interface Kept {
  readonly fingerprint: string;
  readonly answer: Promise<string>;
  readonly since: number;
  /** Bytes, when the answer is there. */
  size: number;
}

const KEPT_MS = 24 * 60 * 60 * 1000;
const CLEAN_EVERY_MS = 60 * 60 * 1000;
const KEPT_BYTES = 32 * 1024 * 1024;
const ENTRY_BYTES = 1024;
const TABLE = "eider_idempotency_keys";

export interface IdempotencyOptions {
  readonly engine: Engine;
  /** Whether the database outlives the process: then answers are kept in it, beside what they tell of. */
  readonly durable: boolean;
  readonly now: () => number;
}

export function openIdempotentAnswers({ engine, durable, now }: IdempotencyOptions): IdempotentAnswers {
  // A Map remembers the order of insertion: the first entry is the oldest.
  const kept = new Map<string, Kept>();
  let bytes = 0;
  let table: Promise<void> | undefined;
  let cleanedAt = 0;

  function forget(name: string, entry: Kept): void {
    if (kept.get(name) === entry && kept.delete(name)) bytes -= entry.size;
  }

  function forgetOld(): void {
    for (const [name, entry] of kept) {
      if (bytes <= KEPT_BYTES && now() - entry.since < KEPT_MS) return;
      forget(name, entry);
    }
  }

  /** Made when the first client sends a key. What is too old goes, then and every hour. */
  function openTable(signal: StopSignal): Promise<void> {
    if (now() - cleanedAt > CLEAN_EVERY_MS) table = undefined;
    if (table !== undefined) return table;
    cleanedAt = now();
    table = change(engine, signal, [
      statement(
        `CREATE TABLE IF NOT EXISTS ${TABLE} (scope VARCHAR, key VARCHAR, fingerprint VARCHAR, answer VARCHAR, since BIGINT, PRIMARY KEY (scope, key))`,
      ),
      statement(`DELETE FROM ${TABLE} WHERE since < $1`, { type: "BIGINT", value: BigInt(now() - KEPT_MS) }),
    ]).catch((error: unknown) => {
      table = undefined;
      cleanedAt = 0;
      throw error;
    });
    return table;
  }

  async function answerOf(
    request: RepeatableRequest,
    { run, encode, signal }: Parameters<IdempotentAnswers["once"]>[1],
  ): Promise<string> {
    if (!durable) return await encode(await run());
    await openTable(signal);
    const stored = await storedAnswer(engine, request, { signal, since: now() - KEPT_MS });
    if (stored !== undefined) return stored;
    let answer = "";
    await run(async (written) => {
      answer = await encode(written);
      return statement(
        `INSERT OR REPLACE INTO ${TABLE} VALUES ($1, $2, $3, $4, $5)`,
        text(request.scope),
        text(request.key),
        text(request.fingerprint),
        text(answer),
        { type: "BIGINT", value: BigInt(now()) },
      );
    });
    return answer;
  }

  return {
    async once(request, work) {
      forgetOld();
      const name = `${request.scope}\n${request.key}`;
      const known = kept.get(name);
      if (known !== undefined) {
        if (known.fingerprint !== request.fingerprint) throw new RequestFailure({ kind: "key-reused" });
        // One that failed changed nothing: whoever waited for it tries itself.
        const answer = await known.answer.catch(() => undefined);
        return answer ?? (await this.once(request, work));
      }
      const entry: Kept = {
        fingerprint: request.fingerprint,
        answer: answerOf(request, work),
        since: now(),
        size: ENTRY_BYTES,
      };
      kept.set(name, entry);
      bytes += entry.size;
      try {
        const answer = await entry.answer;
        bytes += answer.length;
        entry.size += answer.length;
        return answer;
      } catch (error) {
        forget(name, entry);
        throw error;
      }
    },
  };
}

async function storedAnswer(
  engine: Engine,
  { scope, key, fingerprint }: RepeatableRequest,
  { signal, since }: { readonly signal: StopSignal; readonly since: number },
): Promise<string | undefined> {
  const query = statement(
    `SELECT fingerprint, answer FROM ${TABLE} WHERE scope = $1 AND key = $2 AND since >= $3`,
    text(scope),
    text(key),
    { type: "BIGINT", value: BigInt(since) },
  );
  const rows = await engine.read({
    connections: [],
    statements: [query],
    window: { limit: 1, offset: 0 },
    totalOf: undefined,
    signal,
  });
  const chunk = await rows.next();
  await rows.close();
  if (chunk === undefined) return undefined;
  const [stored, answer] = chunk.vectors.map((vector) => {
    if (vector.layout !== "bytes") throw new Error("Keys and answers are text");
    const start = vector.starts[0] ?? 0;
    return Buffer.from(vector.bytes.subarray(start, start + (vector.lengths[0] ?? 0))).toString();
  });
  if (stored !== fingerprint) throw new RequestFailure({ kind: "key-reused" });
  return answer;
}

async function change(engine: Engine, signal: StopSignal, statements: readonly Statement[]): Promise<void> {
  await engine.write({ connections: [], statements, transaction: true, returnsData: false, signal, record: undefined });
}

function statement(sql: string, ...values: readonly BoundValue[]): Statement {
  return { sql, values };
}

function text(value: string): BoundValue {
  return { type: "VARCHAR", value };
}
