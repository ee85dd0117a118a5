import { Agent, request } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { folderWith } from "../process/program.ts";
import { type Files, serviceFrom, type TestService } from "../service.ts";
import { openSocket } from "../socket.ts";
import { until } from "../until.ts";
import { bodyFields, INT, mainFile, outcome, route, send } from "./write-project.ts";

/** One connection that is kept, or as many as there are requests. */
function openAgent(maxSockets: number): Agent & Disposable {
  const agent = new Agent({ keepAlive: true, maxSockets });
  return Object.assign(agent, { [Symbol.dispose]: () => agent.destroy() });
}

/** Status, body and ETag of an answer over this agent. */
function over(
  agent: Agent,
  service: TestService,
  target: string,
  { body, etag }: { readonly body?: unknown; readonly etag?: string } = {},
): Promise<{ readonly status: number; readonly text: string; readonly etag: string }> {
  const [method, path] = target.split(" ");
  const bytes = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    ...(bytes === undefined ? {} : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(bytes) }),
    ...(etag === undefined ? {} : { "If-None-Match": etag }),
  };
  return new Promise((resolve, reject) => {
    const asking = request(service.url + path, { method, agent, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text, etag: response.headers.etag ?? "" }));
      response.on("error", reject);
    });
    asking.on("error", reject).end(bytes);
  });
}

const PAGED = "with-pagination: true\n";
const paged = (target: string, sql: string, yaml = ""): Files => {
  const files = route(target, sql, yaml);
  return Object.fromEntries(
    Object.entries(files).map(([name, text]) => [name, text.replace("with-pagination: false\n", PAGED)]),
  );
};

const TABLE = `
CREATE TABLE t (id INTEGER, v INTEGER);
INSERT INTO t SELECT range, 0 FROM range(20);
CREATE VIEW seen AS SELECT id, v FROM t;`;

/** Ways to see the sum of `v` and the number of rows. */
const LOOKS = [
  "GET /page?limit=1",
  "GET /sum",
  "GET /view",
  "GET /joined",
  "GET /csv?format=csv",
  "GET /arguments?least=0",
];
const SUM = "SELECT count(*)::INTEGER AS rows, sum(v)::INTEGER AS sum FROM";
const READS: Files = {
  ...paged("GET /page", "SELECT (SELECT sum(v)::INTEGER FROM t) AS sum, id FROM t ORDER BY id"),
  ...route("GET /sum", `${SUM} t`),
  ...route("GET /view", `${SUM} seen`),
  ...route("GET /joined", `${SUM} (SELECT a.id, a.v FROM t a JOIN seen b USING (id))`),
  ...route("GET /csv", `${SUM} t`),
  ...route(
    "GET /arguments",
    `${SUM} t WHERE id >= {{params.least}}`,
    "request:\n  - { field-name: least, field-in: query, validators: [{ type: int }] }\n",
  ),
};

/** What one of them says: rows and sum. */
function readSeen(target: string, text: string): readonly [rows: number, sum: number] {
  if (target.includes("csv")) {
    const [rows, sum] = (text.split("\r\n")[1] ?? "").split(",").map(Number);
    return [rows ?? -1, sum ?? -1];
  }
  const body = JSON.parse(text);
  return target.includes("page") ? [body.total_count, body.data[0].sum] : [body[0].rows, body[0].sum];
}

/** Asks so often that whatever can be remembered is. */
async function warmUp(agent: Agent, service: TestService): Promise<void> {
  for (let time = 0; time < 4; time++) {
    for (const target of LOOKS) await over(agent, service, target);
    await new Promise((resolve) => setTimeout(resolve, 4));
  }
}

/** Ways to add 1 to the sum, each with the rows that it adds. */
const WRITES: readonly (readonly [string, string, string, number])[] = [
  ["INSERT", "INSERT INTO t SELECT max(id) + 1, 1 FROM t", "", 1],
  ["UPDATE", "UPDATE t SET v = v + 1 WHERE id = 0", "", 0],
  [
    "a view's table by MERGE",
    "MERGE INTO t USING (VALUES (1)) s (id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = t.v + 1",
    "",
    0,
  ],
  ["RETURNING", "INSERT INTO t SELECT max(id) + 1, 1 FROM t RETURNING id", "operation: { returns-data: true }\n", 1],
  [
    "no transaction",
    "SELECT 1; INSERT INTO t SELECT max(id) + 1, 1 FROM t; SELECT 2",
    "operation: { transaction: false }\n",
    1,
  ],
  [
    "no transaction, and a failure after it",
    "INSERT INTO t SELECT max(id) + 1, 1 FROM t; SELECT error('418: later')",
    "operation: { transaction: false }\n",
    1,
  ],
  ["a table that is made again", "CREATE OR REPLACE TABLE t AS SELECT id, v + (id = 0)::INTEGER AS v FROM t", "", 0],
];

describe("after the answer to a write nobody sees what was before", () => {
  let service: TestService;
  beforeAll(async () => {
    const writes = WRITES.map(([, sql, yaml], index) => route(`POST /write-${index}`, sql, yaml));
    service = await serviceFrom({
      ...mainFile(TABLE),
      ...READS,
      ...Object.fromEntries(writes.flatMap((files) => Object.entries(files))),
      ...route("POST /fail", "INSERT INTO t VALUES (100, 1); SELECT error('no')"),
    });
  });
  afterAll(() => service?.[Symbol.asyncDispose]());

  test.each(WRITES.map(([name, , , added], index) => [name, index, added] as const))("%s", async (_, index, added) => {
    using one = openAgent(1);
    using many = openAgent(100);
    let [rows, sum] = readSeen("GET /sum", (await over(one, service, "GET /sum")).text);
    for (let time = 0; time < 2; time++) {
      await warmUp(one, service);
      const before = await over(one, service, "GET /sum");
      expect((await over(one, service, "GET /sum", { etag: before.etag })).status).toBe(304);
      const { status } = await over(time % 2 === 0 ? one : many, service, `POST /write-${index}`);
      expect([200, 418]).toContain(status);
      rows += added;
      sum += 1;
      expect((await over(one, service, "GET /sum", { etag: before.etag })).status).toBe(200);
      const looks = await Promise.all(
        [one, many].flatMap((agent) =>
          LOOKS.map(async (target) => [target, readSeen(target, (await over(agent, service, target)).text)]),
        ),
      );
      expect(looks).toEqual(looks.map(([target]) => [target, [rows, sum]]));
    }
  });

  test("a GET that writes, and an attached file", async () => {
    await using data = await folderWith({});
    const init = `ATTACH '${join(data.path, "store.duckdb")}' AS store; CREATE TABLE store.t AS SELECT 0 AS n;`;
    await using service = await serviceFrom({
      ...mainFile(init),
      ...route("GET /n", "SELECT n FROM store.t"),
      ...paged("GET /paged", "SELECT n FROM store.t"),
      ...route("GET /next", "UPDATE store.t SET n = n + 1", "operation: { type: Write }\n"),
      ...route("POST /row", "INSERT INTO store.t SELECT max(n) FROM store.t"),
    });
    for (let n = 1; n <= 8; n++) {
      expect(await outcome(service, "GET /next")).toEqual([200, { rows_affected: 1 }]);
      for (let time = 0; time < 3; time++) {
        expect(await service.json("/n")).toEqual([{ n }]);
        expect(await service.json("/paged")).toEqual({ data: [{ n }], next: "", total_count: 1 });
      }
    }
    expect(await outcome(service, "POST /row")).toEqual([200, { rows_affected: 1 }]);
    expect(await service.json("/paged")).toMatchObject({ total_count: 2 });
  });

  test("a read that began before is not shared with those that come after", async () => {
    const slow =
      "SELECT (SELECT count(*) FROM t) AS rows, (SELECT sum(a.range * b.range) FROM range({{params.n}}) a, range({{params.n}}) b) AS s";
    await using service = await serviceFrom({
      ...mainFile(TABLE),
      ...route("GET /slow", slow, "request:\n  - { field-name: n, field-in: query, validators: [{ type: int }] }\n"),
      ...route("POST /write", "INSERT INTO t VALUES (100, 1)"),
    });
    let rows = 20;
    await until("a read that took longer than a write", async () => {
      using early = await openSocket(service.url);
      const hasEnded = (): boolean => early.answers().length > 0;
      early.send("GET /slow?n=4000 HTTP/1.1\r\nHost: x\r\n\r\n");
      await until("the read", () => hasEnded() || service.service.engine.activity().running === 1);
      expect((await send(service, "POST /write")).status).toBe(200);
      rows++;
      const tookLonger = !hasEnded();
      const late = (await service.json("/slow?n=4000")) as [{ rows: number }];
      expect(late[0].rows).toBe(rows);
      const [first] = await early.take(1);
      // It runs, but whether its transaction began before the write is not known.
      expect([rows - 1, rows]).toContain((JSON.parse(first?.body ?? "") as [{ rows: number }])[0].rows);
      // Nor is what it found remembered over what is newer.
      expect(((await service.json("/slow?n=4000")) as [{ rows: number }])[0].rows).toBe(rows);
      return tookLonger;
    });
  });

  test("a write that is rolled back changes nothing that is remembered", async () => {
    using agent = openAgent(10);
    const seen = readSeen("GET /sum", (await over(agent, service, "GET /sum")).text);
    for (let time = 0; time < 2; time++) {
      await warmUp(agent, service);
      expect((await over(agent, service, "POST /fail")).status).toBe(500);
      for (const target of LOOKS) {
        expect([target, readSeen(target, (await over(agent, service, target)).text)]).toEqual([target, seen]);
      }
    }
  });
});

/** Numbers that look random, the same for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

/** Of each client. */
const STEPS = 30;

test("many clients in random order: everybody sees at least what it has been told", async () => {
  const seed = Date.now() % 1_000_000;
  const field = bodyFields({ id: INT, v: INT });
  await using service = await serviceFrom({
    ...mainFile("CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER); INSERT INTO t SELECT range, 0 FROM range(12);"),
    ...route(
      "GET /own/:id",
      "SELECT v FROM t WHERE id = {{params.id}}",
      "request:\n  - { field-name: id, field-in: path, validators: [{ type: int }] }\n",
    ),
    ...paged("GET /page", "SELECT id, v FROM t ORDER BY id"),
    ...route("PUT /own", "UPDATE t SET v = {{params.v}} WHERE id = {{params.id}}", field),
    ...route("POST /new", "INSERT INTO t VALUES ({{params.id}}, {{params.v}})", field),
  });
  using many = openAgent(100);
  let begun = 12;
  let acknowledged = 12;
  let reads = 0;
  let writes = 0;

  async function client(own: number): Promise<void> {
    const random = randomFrom(seed + own);
    using alone = openAgent(1);
    let version = 0;
    for (let step = 0; step < STEPS; step++) {
      const agent = random() < 0.5 ? alone : many;
      const dice = random();
      if (dice < 0.2) {
        version++;
        const put = await over(agent, service, "PUT /own", { body: { id: own, v: version } });
        expect([put.status, put.text]).toEqual([200, '{"rows_affected":1}']);
        writes++;
      } else if (dice < 0.25) {
        const id = begun++;
        expect((await over(agent, service, "POST /new", { body: { id, v: 0 } })).status).toBe(200);
        acknowledged++;
        writes++;
      } else if (dice < 0.6) {
        const { text } = await over(agent, service, `GET /own/${own}`);
        expect(JSON.parse(text), `client ${own}, seed ${seed}`).toEqual([{ v: version }]);
        reads++;
      } else {
        const least = acknowledged;
        const { text } = await over(agent, service, "GET /page?limit=12");
        const { total_count, data } = JSON.parse(text) as { total_count: number; data: { id: number; v: number }[] };
        expect(data[own], `client ${own}, seed ${seed}`).toEqual({ id: own, v: version });
        expect(total_count, `seed ${seed}`).toBeGreaterThanOrEqual(least);
        expect(total_count, `seed ${seed}`).toBeLessThanOrEqual(begun);
        reads++;
      }
    }
  }

  await Promise.all(Array.from({ length: 12 }, (_, own) => client(own)));
  expect(reads + writes).toBe(12 * STEPS);
  expect(Math.min(reads, writes)).toBeGreaterThan(STEPS);
});
