import { expect } from "vitest";
import type { Engine, Read, StopSignal, Write } from "../../src/engines/engine.ts";
import type { Rows } from "../../src/engines/rows.ts";
import { openStop } from "../../src/engines/stop.ts";
import { RequestFailure } from "../../src/failure.ts";
import { integerValue, type Statement, statement, textValue } from "../../src/sql/statement.ts";
import type { TestNeeding } from "../needing.ts";

/** An engine over a database with the table `items (id INTEGER PRIMARY KEY, name VARCHAR)`, which holds the ids 1 to 5,000. */
export interface EngineCase extends AsyncDisposable {
  readonly engine: Engine;
  readonly connections: readonly string[];
  /** A query that takes minutes. */
  readonly slow: string;
}

export const ITEMS = "CREATE TABLE items (id INTEGER PRIMARY KEY, name VARCHAR)";

const NEVER: StopSignal = openStop().signal;

/** What every engine does. */
export function engineSuite(test: TestNeeding, open: () => Promise<EngineCase>): void {
  const readOf = ({ connections }: EngineCase, sql: string | readonly Statement[], more: Partial<Read> = {}): Read => ({
    connections,
    statements: typeof sql === "string" ? [statement(sql)] : sql,
    window: undefined,
    totalOf: undefined,
    signal: NEVER,
    ...more,
  });
  const writeOf = (
    { connections }: EngineCase,
    statements: readonly Statement[],
    more: Partial<Write> = {},
  ): Write => ({
    connections,
    statements,
    transaction: true,
    returnsData: true,
    signal: NEVER,
    ...more,
  });
  const count = async (opened: EngineCase): Promise<number> =>
    await drain(await opened.engine.read(readOf(opened, "SELECT id FROM items")));

  test("reads all rows, a window of them, and their total", async () => {
    await using opened = await open();
    const { engine } = opened;
    expect(await count(opened)).toBe(5000);
    const page = readOf(opened, "SELECT id, name FROM items ORDER BY id", { window: { limit: 10, offset: 4995 } });
    const rows = await engine.read({ ...page, totalOf: page.statements });
    expect([rows.columns.map(({ name }) => name), rows.total, await drain(rows)]).toEqual([["id", "name"], 5000, 5]);
    const bound = {
      sql: "SELECT id FROM items WHERE id <= $1 OR name = $2",
      values: [integerValue(3), textValue("n7")],
    };
    expect(await drain(await engine.read(readOf(opened, [bound])))).toBe(4);
  });

  test("writes in one transaction, and returns rows", async () => {
    await using opened = await open();
    const { engine } = opened;
    const insert = (id: number): Statement => ({
      sql: "INSERT INTO items VALUES ($1, $2) RETURNING id",
      values: [integerValue(id), textValue("it's")],
    });
    const written = await engine.write(writeOf(opened, [insert(6001), insert(6002)]));
    expect([written.rowsAffected, written.rows && (await drain(written.rows))]).toEqual([2, 1]);
    const failed = await failureOf(engine.write(writeOf(opened, [insert(6003), insert(1)])));
    expect(failed).toMatchObject({ kind: "query-failed", constraint: "unique" });
    const refusal = new RequestFailure({ kind: "no-row" });
    const refuse = (): never => {
      throw refusal;
    };
    expect(await failureOf(engine.write(writeOf(opened, [insert(6004)], { checkRowCount: refuse })))).toEqual(
      refusal.failure,
    );
    expect(await count(opened)).toBe(5002);
  });

  test("plans and describes without running anything", async () => {
    await using opened = await open();
    const { engine } = opened;
    expect(await engine.plan([statement("DELETE FROM items")])).toBeUndefined();
    expect(await engine.plan([statement("SELECT 'é',\n nme FROM items")])).toMatchObject({ kind: "names", offset: 13 });
    expect(await engine.plan([statement("SELECT * FROM absent")])).toMatchObject({ kind: "names", missing: "absent" });
    expect(await engine.parse("SELECT FROM WHERE")).toMatchObject({ kind: "syntax" });
    expect(await engine.parse("SELECT * FROM absent")).toBeUndefined();
    expect(await engine.describe([statement("SELECT id FROM items")])).toEqual([
      { name: "id", type: { kind: "integer", bits: 32, signed: true } },
    ]);
    expect(await engine.describe([statement("DELETE FROM items")])).toEqual([]);
    expect(await count(opened)).toBe(5000);
  });

  test("stops a query when its signal aborts, and works on", async () => {
    await using opened = await open();
    const { engine } = opened;
    const stop = openStop();
    const reason = new RequestFailure({ kind: "cancelled" });
    let start = (): void => {};
    const started = new Promise<void>((resolve) => {
      start = resolve;
    });
    const stopped = failureOf(engine.read(readOf(opened, opened.slow, { signal: stop.signal, onStart: start })));
    await started;
    stop.abort(reason);
    expect(await stopped).toEqual(reason.failure);
    expect(await count(opened)).toBe(5000);
    expect(engine.activity()).toEqual({ running: 0, waiting: 0 });
  });

  test("rows that are closed early free their connection", async () => {
    await using opened = await open();
    const rows = await opened.engine.read(readOf(opened, "SELECT a.id FROM items a, items b"));
    await rows.next();
    await rows.close();
    expect(await count(opened)).toBe(5000);
  });
}

async function drain(rows: Rows): Promise<number> {
  let count = 0;
  for (let chunk = await rows.next(); chunk !== undefined; chunk = await rows.next()) count += chunk.rows;
  await rows.close();
  return count;
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => undefined,
    (error: unknown) => (error instanceof RequestFailure ? error.failure : error),
  );
}
