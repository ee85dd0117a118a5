import { describe, expect, test } from "vitest";
import { serviceFrom } from "../service.ts";
import { until } from "../until.ts";
import { type Answer, bodyFields, INT, mainFile, outcome, route, send } from "./write-project.ts";

const CLIENTS = 32;
const TIMES = 5;
const DATA = "operation: { returns-data: true }\n";

/** All clients at once, each one request after another. */
async function clients<T>(
  count: number,
  times: number,
  ask: (client: number, time: number) => Promise<T>,
): Promise<T[]> {
  const all = await Promise.all(
    Array.from({ length: count }, async (_, client) => {
      const answers: T[] = [];
      for (let time = 0; time < times; time++) answers.push(await ask(client, time));
      return answers;
    }),
  );
  return all.flat();
}

const count = (answers: readonly Answer[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { status, text } of answers) {
    const key = status === 200 ? "200" : `${status} ${text}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
};

const ascending = (length: number): number[] => Array.from({ length }, (_, index) => index + 1);

describe("many clients change the same row", () => {
  test(`${CLIENTS} clients that each increment a counter ${TIMES} times: none is lost, none fails`, async () => {
    await using service = await serviceFrom({
      ...mainFile("CREATE TABLE counter (n INTEGER); INSERT INTO counter VALUES (0);"),
      ...route("GET /counter", "SELECT n FROM counter"),
      ...route("POST /counter", "UPDATE counter SET n = n + 1 RETURNING n", DATA),
    });
    const answers = await clients(CLIENTS, TIMES, () => send(service, "POST /counter"));
    expect(count(answers)).toEqual({ 200: CLIENTS * TIMES });
    expect(await service.json("/counter")).toEqual([{ n: CLIENTS * TIMES }]);
    // Each saw the state that it made, and no two made the same.
    const seen = answers.map(({ text }) => (JSON.parse(text) as { data: [{ n: number }] }).data[0].n);
    expect(seen.sort((a, b) => a - b)).toEqual(ascending(CLIENTS * TIMES));
  });

  test("several statements that read what they write: read, compute, write, log", async () => {
    await using service = await serviceFrom({
      ...mainFile(
        "CREATE TABLE account (id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO account VALUES (1, 100), (2, 100); CREATE TABLE moves (n INTEGER);",
      ),
      ...route("GET /accounts", "SELECT id, n, (SELECT count(*) FROM moves) AS moves FROM account ORDER BY id"),
      ...route(
        "POST /move",
        "UPDATE account SET n = n - {{params.n}} WHERE id = 1; UPDATE account SET n = n + {{params.n}} WHERE id = 2; INSERT INTO moves VALUES ({{params.n}})",
        bodyFields({ n: INT }),
      ),
    });
    const answers = await clients(8, 6, (client, time) =>
      send(service, "POST /move", { n: (client + time) % 2 ? 3 : -2 }),
    );
    expect(count(answers)).toEqual({ 200: 48 });
    expect(await service.json("/accounts")).toEqual([
      { id: 1, n: 100 - 24 * 3 + 24 * 2, moves: 48 },
      { id: 2, n: 100 + 24 * 3 - 24 * 2, moves: 48 },
    ]);
  });

  test("without a transaction it is the same for each statement", async () => {
    await using service = await serviceFrom({
      ...mainFile("CREATE TABLE counter (n INTEGER); INSERT INTO counter VALUES (0);"),
      ...route("GET /counter", "SELECT n FROM counter"),
      ...route(
        "POST /counter",
        "UPDATE counter SET n = n + 1; UPDATE counter SET n = n + 1",
        "operation: { transaction: false }\n",
      ),
    });
    expect(count(await clients(8, 6, () => send(service, "POST /counter")))).toEqual({ 200: 48 });
    expect(await service.json("/counter")).toEqual([{ n: 96 }]);
  });

  test("what never stops conflicting is 409, with a time to come again", async () => {
    await using service = await serviceFrom({
      ...mainFile(
        "CREATE TABLE counter (n INTEGER); INSERT INTO counter VALUES (0);",
        "limits: { query-timeout: 10m }\n",
      ),
      ...route("GET /counter", "SELECT n FROM counter"),
      ...route("POST /counter", "UPDATE counter SET n = n + 1"),
    });
    // A transaction that has changed the row and does not end, for longer than any request may take.
    const stop = new AbortController();
    let hasChanged = false;
    const held = service.service.engine.change(
      { connections: ["memory"], touches: ["counter"], signal: new AbortController().signal },
      async (run) => {
        await run({ sql: "UPDATE counter SET n = n + 100", values: [] });
        hasChanged = true;
        await new Promise((resolve) => stop.signal.addEventListener("abort", resolve));
      },
    );
    await until("the change", () => hasChanged);
    const refused = await send(service, "POST /counter");
    expect(refused.status).toBe(409);
    expect(JSON.parse(refused.text)).toEqual({ error: expect.stringMatching(/^Conflict: /) });
    expect(refused.headers.get("retry-after")).toMatch(/^\d+$/);
    expect(await service.json("/counter")).toEqual([{ n: 0 }]);
    stop.abort();
    await held;
    expect(await outcome(service, "POST /counter")).toEqual([200, { rows_affected: 1 }]);
    expect(await service.json("/counter")).toEqual([{ n: 101 }]);
  });
});

describe("many clients insert", () => {
  test("keys of their own: all are there, each once", async () => {
    await using service = await serviceFrom({
      ...mainFile("CREATE TABLE t (id INTEGER PRIMARY KEY, client INTEGER);"),
      ...route("GET /t", "SELECT id FROM t ORDER BY id"),
      ...route(
        "POST /t",
        "INSERT INTO t VALUES ({{params.id}}, {{params.client}})",
        bodyFields({ id: INT, client: INT }),
      ),
    });
    const answers = await clients(CLIENTS, TIMES, (client, time) =>
      send(service, "POST /t", { id: client * TIMES + time + 1, client }),
    );
    expect(count(answers)).toEqual({ 200: CLIENTS * TIMES });
    expect(await service.json("/t")).toEqual(ascending(CLIENTS * TIMES).map((id) => ({ id })));
  });

  test("the same keys: one wins, the others get the error of the constraint", async () => {
    await using service = await serviceFrom({
      ...mainFile("CREATE TABLE t (id INTEGER PRIMARY KEY, client INTEGER);"),
      ...route("GET /t", "SELECT id, client FROM t ORDER BY id"),
      ...route(
        "POST /t",
        "INSERT INTO t VALUES ({{params.id}}, {{params.client}})",
        bodyFields({ id: INT, client: INT }),
      ),
    });
    const answers = await clients(8, 6, async (client, id) => ({
      client,
      id,
      ...(await send(service, "POST /t", { id, client })),
    }));
    const won = answers.filter(({ status }) => status === 200).sort((a, b) => a.id - b.id);
    expect(won.map(({ id }) => id)).toEqual(Array.from({ length: 6 }, (_, id) => id));
    expect(await service.json("/t")).toEqual(won.map(({ id, client }) => ({ id, client })));
    for (const { status, text } of answers.filter(({ status }) => status !== 200)) {
      expect([status, JSON.parse(text)]).toEqual([
        500,
        { error: expect.stringMatching(/^Internal Server Error: .*([Dd]uplicate key|violat)/) },
      ]);
    }
  });

  test("the same keys with ON CONFLICT DO NOTHING: the counts add up to the rows", async () => {
    await using service = await serviceFrom({
      ...mainFile("CREATE TABLE t (id INTEGER PRIMARY KEY);"),
      ...route("GET /t", "SELECT count(*) AS n FROM t"),
      ...route("POST /t", "INSERT INTO t VALUES ({{params.id}}) ON CONFLICT DO NOTHING", bodyFields({ id: INT })),
    });
    const answers = await clients(8, 10, (_, id) => send(service, "POST /t", { id }));
    expect(count(answers)).toEqual({ 200: 80 });
    const affected = answers.map(({ text }) => (JSON.parse(text) as { rows_affected: number }).rows_affected);
    expect(affected.reduce((sum, rows) => sum + rows)).toBe(10);
    expect(await service.json("/t")).toEqual([{ n: 10 }]);
  });

  test("a table that others drop and make again: no answer but success or the error of the database", async () => {
    await using service = await serviceFrom({
      ...mainFile("CREATE TABLE t (id INTEGER);"),
      ...route("GET /t", "SELECT count(*) AS n FROM t"),
      ...route("POST /t", "INSERT INTO t VALUES (1)"),
      ...route("PUT /t", "CREATE OR REPLACE TABLE t (id INTEGER); INSERT INTO t VALUES (0)"),
    });
    const answers = await clients(8, 20, (client, time) =>
      send(service, client === 0 && time % 4 === 0 ? "PUT /t" : "POST /t"),
    );
    for (const { status, text } of answers) {
      if (status === 200) expect(text).toBe('{"rows_affected":1}');
      else expect([409, 500]).toContain(status);
    }
    expect((await send(service, "PUT /t")).status).toBe(200);
    expect(await outcome(service, "POST /t")).toEqual([200, { rows_affected: 1 }]);
    expect(await service.json("/t")).toEqual([{ n: 2 }]);
    expect(service.events.filter(({ kind }) => kind === "unexpected")).toEqual([]);
  });
});
