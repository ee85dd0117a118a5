import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Files, serviceFrom, type TestService } from "../service.ts";
import { openSocket } from "../socket.ts";
import { until } from "../until.ts";
import { bodyFields, INT, mainFile, outcome, route, send } from "./write-project.ts";

/** More work than any test waits for. */
const ENDLESS = "SELECT sum(a.range * b.range) AS s FROM range(1000000) a, range(1000000) b";
const WITHOUT = "operation: { transaction: false }\n";
const ROWS = route("GET /t", "SELECT id FROM t ORDER BY id");
const INSERT = route("POST /t", "INSERT INTO t VALUES ({{params.id}})", bodyFields({ id: INT }));
const TABLE = "CREATE TABLE t (id INTEGER PRIMARY KEY CHECK (id < 100)); INSERT INTO t VALUES (1);";

const isIdle = (service: TestService): boolean => {
  const { running, waiting } = service.service.engine.activity();
  return running === 0 && waiting === 0;
};

/** One connection for all: what a write leaves on it, the next one meets. */
const ONE = "limits: { max-concurrent-queries: 1 }\n";

/** Writes and reads work, as if nothing had been before. */
async function expectClean(service: TestService, before: readonly number[]): Promise<void> {
  const ids = (): Promise<unknown> => service.json("/t");
  expect(await ids()).toEqual(before.map((id) => ({ id })));
  for (const id of [97, 98, 99]) {
    expect(await outcome(service, "POST /t", { id })).toEqual([200, { rows_affected: 1 }]);
  }
  expect(await ids()).toEqual([...before, 97, 98, 99].map((id) => ({ id })));
  expect(service.events.filter(({ kind }) => kind === "unexpected")).toEqual([]);
}

/** What goes wrong after a first statement, and the answer to it. */
const FAILURES: readonly (readonly [string, string, number, unknown])[] = [
  [
    "a key that is there",
    "INSERT INTO t VALUES (1)",
    500,
    { error: expect.stringMatching(/^Internal Server Error: Constraint Error: .*[Dd]uplicate key "id: 1"/) },
  ],
  [
    "a CHECK",
    "INSERT INTO t VALUES (100)",
    500,
    { error: expect.stringMatching(/^Internal Server Error: Constraint Error: CHECK constraint failed/) },
  ],
  [
    "NOT NULL",
    "INSERT INTO t VALUES (NULL)",
    500,
    { error: expect.stringMatching(/^Internal Server Error: Constraint Error: NOT NULL constraint failed: t\.id/) },
  ],
  [
    "a conversion",
    "INSERT INTO t VALUES (50), ('x' || 1)",
    500,
    { error: expect.stringMatching(/^Internal Server Error: Conversion Error: .*'x1'/) },
  ],
  ["error()", "SELECT error('broken')", 500, { error: "Internal Server Error: Invalid Input Error: broken" }],
  ["error('409: ...')", "SELECT error('409: already there')", 409, { error: "already there" }],
  ["error('403: ...')", "UPDATE t SET id = error('403: not yours')", 403, { error: "not yours" }],
  [
    "a table that is gone",
    "DROP TABLE passing; SELECT * FROM passing",
    500,
    { error: expect.stringMatching(/^Internal Server Error: Catalog Error: .*passing/) },
  ],
];

const all = (files: readonly Files[]): Files => Object.fromEntries(files.flatMap((each) => Object.entries(each)));

/** One service for the tests of a group; after each of them the table is as before. */
function shared(files: Files): () => TestService {
  let service: TestService | undefined;
  const running = (): TestService => {
    if (service === undefined) throw new Error("it has not started");
    return service;
  };
  beforeAll(async () => {
    service = await serviceFrom({ ...files, ...route("PUT /reset", "DELETE FROM t WHERE id <> 1") });
  });
  afterEach(async () => {
    expect((await send(running(), "PUT /reset")).status).toBe(200);
  });
  afterAll(() => service?.[Symbol.asyncDispose]());
  return running;
}

describe("a statement that fails", () => {
  const main = mainFile(`${TABLE}\nCREATE TABLE passing (n INTEGER);`, ONE);
  const failures = FAILURES.map(([name, , status, body], index) => [name, index, status, body] as const);
  const many = "INSERT INTO t SELECT 50 - range FROM range(50)";
  const guard =
    "SELECT error('409: already there') FROM t WHERE id = {{params.id}}; INSERT INTO t VALUES ({{params.id}}) RETURNING id";
  const running = shared({
    ...main,
    ...ROWS,
    ...INSERT,
    ...all(
      FAILURES.flatMap(([, sql], index) => [
        route(
          `POST /fail-${index}`,
          `INSERT INTO t VALUES (10); UPDATE t SET id = 20 WHERE id = 10; ${sql}; INSERT INTO t VALUES (30)`,
        ),
        route(`PUT /fail-${index}`, `INSERT INTO t VALUES (10); ${sql}; INSERT INTO t VALUES (30)`, WITHOUT),
      ]),
    ),
    ...route("POST /many", many),
    ...route("PUT /many", many, WITHOUT),
    ...route("POST /guarded", guard, `operation: { returns-data: true }\n${bodyFields({ id: INT })}`),
  });

  test.each(failures)("transaction: true and %s: nothing is left behind", async (_, index, status, body) => {
    for (let time = 0; time < 3; time++) {
      expect(await outcome(running(), `POST /fail-${index}`)).toEqual([status, body]);
    }
    await expectClean(running(), [1]);
  });

  test.each(failures)("transaction: false and %s: what came before stays", async (_, index, status, body) => {
    expect(await outcome(running(), `PUT /fail-${index}`)).toEqual([status, body]);
    await expectClean(running(), [1, 10]);
  });

  test("a statement of many rows is whole or not at all, with and without a transaction", async () => {
    expect((await send(running(), "POST /many")).status).toBe(500);
    expect((await send(running(), "PUT /many")).status).toBe(500);
    await expectClean(running(), [1]);
  });

  test("what the template itself says about transactions does no harm to others", async () => {
    const loading = serviceFrom({
      ...main,
      ...ROWS,
      ...INSERT,
      ...route("POST /own", "BEGIN; INSERT INTO t VALUES (10); INSERT INTO t VALUES (11)", WITHOUT),
    });
    // Refused at load, or run: whatever it is, no transaction stays open for the next one.
    const service = await loading.catch(() => undefined);
    if (service === undefined) return;
    await using _ = service;
    await send(service, "POST /own");
    const left = (await service.json("/t")) as { id: number }[];
    await expectClean(
      service,
      left.map(({ id }) => id),
    );
  });

  test("a guard raises its status before anything is written", async () => {
    const add = (id: number) => outcome(running(), "POST /guarded", { id });
    expect(await add(1)).toEqual([409, { error: "already there" }]);
    expect(await add(2)).toEqual([200, { rows_affected: 1, data: [{ id: 2 }] }]);
    expect(await add(2)).toEqual([409, { error: "already there" }]);
  });
});

/** Writes, leaves a mark in the file system that it has, and never ends. */
function stuck(operation = ""): Files {
  const sql = `INSERT INTO t VALUES (10); COPY (SELECT 1) TO '{{{conn.mark}}}'; INSERT INTO t ${ENDLESS}`;
  return route("POST /stuck", sql, `operation: { allow: [copy]${operation} }\n`);
}

function stuckMain(limits: string): Files {
  const properties = "    properties: { mark: ./mark.csv }\n";
  // What never ends burns one core, not all of them.
  return mainFile(TABLE, `${properties}duckdb: { threads: 1 }\nlimits: { ${limits} }\n`);
}

const marked = (service: TestService): Promise<boolean> =>
  until("the first statement", () => existsSync(join(service.folder, "mark.csv")));
const unmark = (service: TestService): Promise<void> => rm(join(service.folder, "mark.csv"));

const post = (path: string): string => `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`;

describe("a write that does not come to its end", () => {
  test("limits.query-timeout: 504, rolled back", async () => {
    const limits = "query-timeout: 3s, max-concurrent-queries: 1";
    await using service = await serviceFrom({ ...stuckMain(limits), ...ROWS, ...INSERT, ...stuck() });
    expect(await outcome(service, "POST /stuck")).toEqual([504, { error: "Gateway Timeout: the query took too long" }]);
    await marked(service);
    expect(isIdle(service)).toBe(true);
    await expectClean(service, [1]);
  });

  test("limits.query-timeout without a transaction: 504, what was done stays", async () => {
    const limits = "query-timeout: 3s, max-concurrent-queries: 1";
    await using service = await serviceFrom({
      ...stuckMain(limits),
      ...ROWS,
      ...INSERT,
      ...stuck(", transaction: false"),
    });
    expect((await send(service, "POST /stuck")).status).toBe(504);
    await expectClean(service, [1, 10]);
  });

  describe("a client that leaves", () => {
    const running = shared({
      ...stuckMain("max-concurrent-queries: 1"),
      ...ROWS,
      ...INSERT,
      ...stuck(),
      ...route("POST /more", "INSERT INTO t VALUES (20)"),
    });

    test.each(["close", "reset", "endSending"] as const)("before the commit: %s", async (leave) => {
      const service = running();
      for (let time = 0; time < 2; time++) {
        using socket = await openSocket(service.url);
        socket.send(post("/stuck"));
        await marked(service);
        await unmark(service);
        socket[leave]();
        await until("an idle engine", () => isIdle(service));
      }
      await expectClean(service, [1]);
    });

    test("while it waits for its turn: nothing is run", async () => {
      const service = running();
      using first = await openSocket(service.url);
      using second = await openSocket(service.url);
      first.send(post("/stuck"));
      await marked(service);
      second.send(post("/more"));
      await until("the queue", () => service.service.engine.activity().waiting === 1);
      second.close();
      await until("the queue", () => service.service.engine.activity().waiting === 0);
      first.close();
      await until("an idle engine", () => isIdle(service));
      await expectClean(service, [1]);
    });
  });

  test("an engine that closes rolls back, and its client is told", async () => {
    await using service = await serviceFrom({ ...stuckMain("query-timeout: 30s"), ...ROWS, ...INSERT, ...stuck() });
    using socket = await openSocket(service.url);
    socket.send(post("/stuck"));
    await marked(service);
    service.app.cancelAll();
    const [answer] = await socket.take(1);
    expect(answer?.status).toBe(503);
    await until("an idle engine", () => isIdle(service));
    await expectClean(service, [1]);
  });
});

test("no transaction: what was committed before a failing ON CONFLICT is not run again", async () => {
  await using service = await serviceFrom({
    ...mainFile(
      "CREATE TABLE log (n INTEGER); CREATE TABLE t (id INTEGER PRIMARY KEY, u INTEGER UNIQUE); INSERT INTO t VALUES (1, 1);",
    ),
    ...route("GET /log", "SELECT count(*)::INTEGER AS rows FROM log"),
    ...route(
      "POST /add",
      "INSERT INTO log VALUES (1); INSERT INTO t VALUES (2, 1) ON CONFLICT (id) DO NOTHING",
      "operation: { transaction: false }\n",
    ),
  });
  expect((await send(service, "POST /add")).status).toBe(500);
  expect(await service.json("/log")).toEqual([{ rows: 1 }]);
});
