import { rename, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listen, type RequestHandler } from "../../src/http/listen.ts";
import { folderWith } from "../process/program.ts";
import { type Files, serviceFrom, type TestService } from "../service.ts";
import { openSocket } from "../socket.ts";
import { until } from "../until.ts";

/** Longer than any test. It waits instead of computing, so that tests side by side do not slow each other down. */
const ENDLESS = "SELECT sleep_ms(100000000) AS s";
/** Longer than any test: what ends before was not ended by the timeout. */
const NO_TIMEOUT = "query-timeout: 10m";

function read(path: string, sql: string, yaml = ""): Files {
  return {
    [`${path}.yaml`]: `url-path: /${path}\ntemplate-source: ${path}.sql\nconnection: memory\nwith-pagination: false\n${yaml}`,
    [`${path}.sql`]: sql,
  };
}

/** What never ends burns one core, not all of them. */
function main(limits: string): Files {
  return { "eider.yaml": `connections: { memory: {} }\nduckdb: { threads: 1 }\nlimits: { ${limits} }\n` };
}

/** One service for the tests of a group. */
function shared(files: Files): () => TestService {
  let service: TestService | undefined;
  beforeAll(async () => {
    service = await serviceFrom(files);
  });
  afterAll(() => service?.[Symbol.asyncDispose]());
  return () => {
    if (service === undefined) throw new Error("it has not started");
    return service;
  };
}

const request = (path: string, version = "1.1"): string => `GET ${path} HTTP/${version}\r\nHost: x\r\n\r\n`;

const running = (service: TestService): number => service.service.engine.activity().running;
const isIdle = (service: TestService): boolean => {
  const { running, waiting } = service.service.engine.activity();
  return running === 0 && waiting === 0;
};

async function untilIdle(service: TestService): Promise<void> {
  await until("an idle engine", () => isIdle(service));
}

describe("a client that disconnects ends its query", () => {
  const open = shared({
    ...main(`${NO_TIMEOUT}, max-concurrent-queries: 1`),
    ...read("endless", ENDLESS),
    ...read("quick", "SELECT 1 AS n"),
    ...read("rows", "SELECT range AS n FROM range(100000000)"),
  });

  test.each(["close", "reset", "endSending"] as const)("a client that leaves: %s", async (leave) => {
    const service = open();
    for (let count = 0; count < 2; count++) {
      using socket = await openSocket(service.url);
      socket.send(request("/endless"));
      await until("the query", () => running(service) === 1);
      socket[leave]();
      await untilIdle(service);
    }
    expect(await service.json("/quick")).toEqual([{ n: 1 }]);
    expect(service.events.filter(({ kind }) => kind === "unexpected")).toEqual([]);
  });

  test("in the middle of a stream", async () => {
    const service = open();
    using socket = await openSocket(service.url);
    socket.send(request("/rows"));
    await until("rows", () => socket.received().length > 100_000);
    socket.close();
    await untilIdle(service);
    // Nothing runs on: it is idle for good, not between two pieces.
    expect((await service.get("/health")).status).toBe(200);
    expect(isIdle(service)).toBe(true);
  });

  test("while it waits in the queue", async () => {
    const service = open();
    using first = await openSocket(service.url);
    using second = await openSocket(service.url);
    first.send(request("/endless"));
    await until("the query", () => running(service) === 1);
    second.send(request("/endless"));
    await until("the queue", () => service.service.engine.activity().waiting === 1);
    second.close();
    await until("the queue", () => service.service.engine.activity().waiting === 0);
    expect(running(service)).toBe(1);
    first.close();
    await untilIdle(service);
  });
});

describe("limits.query-timeout", () => {
  const open = shared({ ...main("query-timeout: 300ms, max-concurrent-queries: 1"), ...read("endless", ENDLESS) });

  test("504 when the time is up, and the database is idle", async () => {
    const service = open();
    expect((await service.get("/health")).status).toBe(200);
    const from = performance.now();
    const answer = await service.get("/endless");
    const took = performance.now() - from;
    expect(answer.status).toBe(504);
    expect(await answer.json()).toEqual({ error: "Gateway Timeout: the query took too long" });
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(took).toBeGreaterThan(280);
    expect(isIdle(service)).toBe(true);
  });

  test("waiting for a slot counts", async () => {
    const service = open();
    const answers = await Promise.all([service.get("/endless"), service.get("/endless")]);
    expect(answers.map(({ status }) => status)).toEqual([504, 504]);
    expect(isIdle(service)).toBe(true);
  });

  test("a slow client does not count", async () => {
    await using service = await serviceFrom({
      ...main("query-timeout: 8s"),
      // More than sockets hold, of long values: the query itself takes no time.
      ...read("rows", "SELECT repeat('x', 1000) AS x, range AS n FROM range(20000)"),
    });
    using socket = await openSocket(service.url);
    socket.send(request("/rows").replace("Host", "Connection: close\r\nHost"));
    await until("rows", () => socket.received().length > 1_000);
    socket.pause();
    const paused = performance.now();
    await until("more than the time of a query", () => performance.now() - paused > 8_300);
    socket.resume();
    await socket.untilClosed();
    const [answer] = socket.answers();
    expect([answer?.complete, answer?.body.endsWith('"n":19999}]')]).toEqual([true, true]);
  });
});

describe("a stream that breaks off is cut, never closed as if it were complete", () => {
  const streams: Files = {
    ...read(
      "fails",
      "SELECT CASE WHEN range = 400000 THEN error('broken') ELSE range::VARCHAR END AS n FROM range(500000)",
    ),
    // Its first rows take no time, so that they are sent before the time is up. The others wait, which takes no processor.
    ...read(
      "stops",
      "SELECT range AS n, CASE WHEN range < 40000 THEN NULL ELSE sleep_ms(1) END AS s FROM range(100000000)",
    ),
    ...read("rows", "SELECT range AS n FROM range(100000000)"),
  };

  const unlimited = shared({ ...main(NO_TIMEOUT), ...streams });
  const limited = shared({ ...main("query-timeout: 5s"), ...streams });

  test.each([
    ["an error of the query", "/fails", "query-failed", unlimited],
    ["a timeout", "/stops", "query-timeout", limited],
  ])("%s", async (_, path, failure, open) => {
    const service = open();
    using socket = await openSocket(service.url);
    socket.send(request(path));
    await socket.untilClosed();
    const [answer] = socket.answers();
    expect(answer?.status).toBe(200);
    expect(answer?.headers.get("transfer-encoding")).toBe("chunked");
    expect(answer?.complete).toBe(false);
    // More than is held back: rows have been sent.
    expect(answer?.body.length).toBeGreaterThan(64 * 1024);
    await untilIdle(service);
    expect(service.events.at(-1)).toMatchObject({ kind: "call-cut", failure: { kind: failure } });
    await expect(service.get(path).then((response) => response.text())).rejects.toThrow();
  });

  test.each(["/fails", "/stops"])("HTTP/1.0 has no chunks, so %s ends with a reset", async (path) => {
    const service = limited();
    using socket = await openSocket(service.url);
    socket.send(request(path, "1.0"));
    await socket.untilClosed();
    const [answer] = socket.answers();
    expect([answer?.status, answer?.headers.has("content-length")]).toEqual([200, false]);
    expect(socket.wasReset()).toBe(true);
  });

  test("an engine that closes", async () => {
    await using service = await serviceFrom({ ...main(NO_TIMEOUT), ...streams });
    using socket = await openSocket(service.url);
    socket.send(request("/rows"));
    await until("rows", () => socket.received().length > 100_000);
    await service.service.engine.close();
    await socket.untilClosed();
    expect(socket.answers()[0]).toMatchObject({ status: 200, complete: false });
    expect((await service.get("/rows")).status).toBe(503);
  });

  test("all calls that are ended", async () => {
    const service = unlimited();
    using socket = await openSocket(service.url);
    socket.send(request("/rows"));
    await until("rows", () => socket.received().length > 100_000);
    service.app.cancelAll();
    await untilIdle(service);
    await socket.untilClosed();
    expect(socket.answers()[0]).toMatchObject({ status: 200, complete: false });
  });

  test("what fails before its first rows is an answer", async () => {
    await using service = await serviceFrom(read("x", "SELECT error('broken') AS n FROM range(1000000)"));
    const answer = await service.get("/x");
    expect([answer.status, await answer.json()]).toEqual([
      500,
      { error: "Internal Server Error: Invalid Input Error: broken" },
    ]);
  });
});

describe("limits.stalled-client-timeout", () => {
  const files: Files = {
    ...main("stalled-client-timeout: 1s"),
    ...read("rows", "SELECT range AS n FROM range(100000000)"),
    ...read("whole", "SELECT repeat('x', 60000) AS text"),
    ...read("quick", "SELECT 1 AS n"),
  };

  test.each([
    ["in the middle of a stream", "/rows", 1],
    ["with answers that were sent in one piece", "/whole", 300],
  ])("a client that does not read is cut off %s, and holds nothing meanwhile", async (_, path, times) => {
    await using service = await serviceFrom(files);
    const responses: ServerResponse[] = [];
    const handle: RequestHandler = (request, response) => {
      responses.push(response);
      service.app.handle(request, response);
    };
    const listener = await listen({ host: "127.0.0.1", port: 0, handle });
    using socket = await openSocket(listener.url);
    socket.pause();
    socket.send(request(path).repeat(times));
    await until("the call", () => responses[0]?.headersSent);
    const from = performance.now();
    await until("a stalled client", () => running(service) === 0);
    expect(await service.json("/quick")).toEqual([{ n: 1 }]);
    await until("a closed connection", () => responses.at(-1)?.destroyed);
    expect(performance.now() - from).toBeGreaterThan(900);
    expect(isIdle(service)).toBe(true);
    socket.resume();
    await socket.untilClosed();
    // What the sockets held is there; the rest never came.
    expect(socket.answers().filter(({ complete }) => complete).length).toBeLessThan(times);
    await listener.close();
  });
});

describe("too many at once", () => {
  test("503 with Retry-After when the queue is full", async () => {
    await using service = await serviceFrom({
      ...main("max-concurrent-queries: 1, max-queued-requests: 1"),
      ...read("endless", ENDLESS),
      ...read("quick", "SELECT 1 AS n"),
    });
    using first = await openSocket(service.url);
    using second = await openSocket(service.url);
    first.send(request("/endless"));
    await until("the query", () => running(service) === 1);
    second.send(request("/quick"));
    await until("the queue", () => service.service.engine.activity().waiting === 1);
    const answer = await service.get("/quick");
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(await answer.json()).toEqual({ error: "Service Unavailable: too many requests are waiting" });
    expect(await service.json("/health")).toEqual({ status: "ok" });
    // The request that waited runs.
    first.close();
    expect((await second.take(1))[0]?.body).toBe('[{"n":1}]');
    expect((await service.get("/quick")).status).toBe(200);
  });

  test("slow queries in all slots but one delay neither /health nor others", async () => {
    await using service = await serviceFrom({
      ...main("max-concurrent-queries: 3"),
      ...read("endless", ENDLESS),
      ...read("quick", "SELECT 1 AS n"),
    });
    await service.json("/quick");
    const slow = await Promise.all([openSocket(service.url), openSocket(service.url)]);
    for (const socket of slow) socket.send(request("/endless"));
    await until("the queries", () => running(service) === 2);
    for (let count = 0; count < 10; count++) {
      expect(await service.json("/health")).toEqual({ status: "ok" });
      expect(await service.json("/quick")).toEqual([{ n: 1 }]);
    }
    expect(running(service)).toBe(2);
    for (const socket of slow) socket.close();
  });

  test("clients that stall hold no slots", async () => {
    await using service = await serviceFrom({
      ...main("max-concurrent-queries: 1, max-queued-requests: 1"),
      ...read("rows", "SELECT range AS n FROM range(100000000)"),
      ...read("quick", "SELECT 1 AS n"),
    });
    for (let count = 0; count < 3; count++) {
      const socket = await openSocket(service.url);
      socket.send(request("/rows"));
      await until("rows", () => socket.received().length > 1_000);
      socket.pause();
      await until("a stalled client", () => isIdle(service));
    }
    expect(await service.json("/quick")).toEqual([{ n: 1 }]);
  });
});

describe("sources", () => {
  const ALLOWED = "template: { environment-whitelist: [FILE] }\n";

  test("one that is missing: 503, the others work, and it works as soon as it is there", async () => {
    await using folder = await folderWith({});
    const file = join(folder.path, "late.duckdb");
    await using service = await serviceFrom(
      {
        "eider.yaml": `connections:\n  memory: {}\n  files: { init: "ATTACH '\${FILE}' AS late (READ_ONLY)" }\n${ALLOWED}`,
        ...read("quick", "SELECT 1 AS n"),
        "late.yaml":
          "url-path: /late\ntemplate-source: late.sql\nconnection: [files]\nwith-pagination: false\nrequest:\n  - { field-name: n, field-in: query, validators: [{ type: int, min: 1 }] }\n",
        "late.sql": "SELECT n FROM late.t WHERE n >= {{params.n}} ORDER BY n",
      },
      { FILE: file },
    );
    const answer = await service.get("/late?n=2");
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await answer.json()).toEqual({ error: "Service Unavailable: connection 'files' cannot be reached" });
    expect(await service.json("/quick")).toEqual([{ n: 1 }]);
    expect(await service.json("/health")).toEqual({ status: "ok" });
    const ready = await service.get("/health/ready");
    expect([ready.status, await ready.json()]).toEqual([200, { status: "degraded", connections: ["files"] }]);
    // What is wrong with the request itself is told all the same.
    expect((await service.get("/late?n=0")).status).toBe(400);
    await makeDatabase(file, "CREATE TABLE t AS SELECT range AS n FROM range(4)");
    expect(await service.json("/late?n=2")).toEqual([{ n: 2 }, { n: 3 }]);
    expect(await service.json("/health/ready")).toEqual({ status: "ok" });
    expect(service.events.map(({ kind }) => kind)).toContain("connection-up");
  });

  test("readiness alone notices that a source is back", async () => {
    await using folder = await folderWith({});
    const file = join(folder.path, "late.csv");
    await using service = await serviceFrom(
      {
        "eider.yaml": `connections:\n  memory: {}\n  files: { type: csv, path: "\${FILE}" }\n${ALLOWED}`,
        ...read("quick", "SELECT 1 AS n"),
      },
      { FILE: file },
    );
    expect(await service.json("/health/ready")).toEqual({ status: "degraded", connections: ["files"] });
    await writeFile(file, "a,b\n1,2\n");
    await until("readiness", async () => (await (await service.get("/health/ready")).text()) === '{"status":"ok"}');
  });

  test("two connections in one query", async () => {
    await using service = await serviceFrom({
      "eider.yaml":
        "connections:\n" +
        "  one: { init: \"ATTACH ':memory:' AS one; CREATE TABLE one.a AS SELECT range AS id, 'a' || range AS a FROM range(3)\" }\n" +
        "  two: { init: \"ATTACH ':memory:' AS two; CREATE TABLE two.b AS SELECT range + 1 AS id, 'b' || range AS b FROM range(3)\" }\n",
      "both.yaml": "url-path: /both\ntemplate-source: both.sql\nconnection: [one, two]\nwith-pagination: false\n",
      "both.sql": "SELECT id, a, b FROM one.a JOIN two.b USING (id) ORDER BY id",
    });
    expect(await service.json("/both")).toEqual([
      { id: 1, a: "a1", b: "b0" },
      { id: 2, a: "a2", b: "b1" },
    ]);
  });

  test("fifty first calls at once run the init once", async () => {
    await using folder = await folderWith({});
    const file = join(folder.path, "late.csv");
    await using service = await serviceFrom(
      {
        "eider.yaml": `connections:\n  runs: { init: "CREATE TABLE runs (n int)", lazy: false }\n  late: { init: "CREATE TABLE started AS FROM '\${FILE}'; INSERT INTO runs VALUES (1)" }\n${ALLOWED}`,
        "late.yaml": "url-path: /late\ntemplate-source: late.sql\nconnection: [runs, late]\nwith-pagination: false\n",
        "late.sql": "SELECT count(*) AS runs FROM runs",
      },
      { FILE: file },
    );
    expect((await service.get("/late")).status).toBe(503);
    await writeFile(file, "a\n1\n");
    const answers = await Promise.all(Array.from({ length: 50 }, () => service.get("/late")));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    for (const answer of answers) expect(await answer.json()).toEqual([{ runs: 1 }]);
  });
});

async function makeDatabase(file: string, sql: string): Promise<void> {
  // Written elsewhere and moved: half a database is not what the service should meet.
  const instance = await DuckDBInstance.create(`${file}.new`);
  const connection = await instance.connect();
  await connection.run(sql);
  connection.closeSync();
  instance.closeSync();
  await rename(`${file}.new`, file);
}
