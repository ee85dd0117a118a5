import { describe, expect, test } from "vitest";
import { readTextFile } from "../../src/config/files.ts";
import { availableCores } from "../../src/engines/machine.ts";
import { queryLimits } from "../../src/service/query-limits.ts";
import { type Files, serviceFrom, type TestService } from "../service.ts";
import { openSocket } from "../socket.ts";
import { until } from "../until.ts";

/** Longer than any test. It waits instead of computing, so that tests side by side do not slow each other down. */
const ENDLESS = "SELECT sleep_ms(100000000) AS s";

/** Nobody can remember it, and no two are one. */
const QUICK = "SELECT random() > 2 AS n";

function read(path: string, sql: string, yaml = ""): Files {
  return {
    [`${path}.yaml`]: `url-path: /${path}\ntemplate-source: ${path}.sql\nwith-pagination: false\n${yaml.includes("connection") ? "" : "connection: memory\n"}${yaml}`,
    [`${path}.sql`]: sql,
  };
}

const main = (limits: string, connections = "memory: {}"): Files => ({
  "eider.yaml": `connections: { ${connections} }\nlimits: { ${limits} }\n`,
});

const activity = (service: TestService) => service.service.engine.activity();

/** Clients that ask and wait; `Symbol.dispose` lets them all leave. */
async function crowd(service: TestService, path: string, count: number) {
  const sockets = await Promise.all(Array.from({ length: count }, () => openSocket(service.url)));
  for (const socket of sockets) socket.send(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  return {
    sockets,
    statuses: () => sockets.map((socket) => socket.answers()[0]?.status),
    [Symbol.dispose]: () => {
      for (const socket of sockets) socket.close();
    },
  };
}

test("a slow endpoint with a long queue does not starve the others", async () => {
  await using service = await serviceFrom({
    ...main("max-concurrent-queries: 4"),
    ...read("endless", ENDLESS),
    ...read("quick", QUICK),
    ...read("write", "CREATE OR REPLACE TABLE w AS SELECT 1 AS n", "method: POST\n"),
  });
  expect(await service.json("/quick")).toEqual([{ n: false }]);
  using slow = await crowd(service, "/endless", 40);
  await until("the queue", () => activity(service).waiting === 37);
  for (let count = 0; count < 10; count++) expect(await service.json("/quick")).toEqual([{ n: false }]);
  expect((await service.get("/quick?format=parquet")).status).toBe(200);
  expect((await service.request("/write", { method: "POST" })).status).toBe(200);
  expect(activity(service)).toMatchObject({ running: 3, waiting: 37 });
  expect(slow.statuses().every((status) => status === undefined)).toBe(true);
});

test("one endpoint cannot fill the queue; beyond its part it is refused, the others are not", async () => {
  await using service = await serviceFrom({
    ...main("max-concurrent-queries: 1, max-queued-requests: 8"),
    ...read("endless", ENDLESS),
    ...read("quick", QUICK),
  });
  await service.json("/quick");
  using slow = await crowd(service, "/endless", 12);
  await until("refusals", () => slow.statuses().filter((status) => status === 503).length === 5);
  expect(activity(service)).toMatchObject({ running: 1, waiting: 6 });
  using quick = await crowd(service, "/quick", 2);
  await until("the queue", () => activity(service).waiting === 8);
  for (const socket of slow.sockets) socket.close();
  await until("both", () => quick.statuses().every((status) => status === 200));
});

describe("max-concurrency", () => {
  test("of an endpoint: so many of its queries run, whatever they are", async () => {
    await using service = await serviceFrom({
      ...main("max-concurrent-queries: 8"),
      ...read("endless", ENDLESS, "max-concurrency: 2\n"),
      ...read("other", ENDLESS),
    });
    using bounded = await crowd(service, "/endless", 4);
    using files = await crowd(service, "/endless?format=parquet", 1);
    await until("the queue", () => activity(service).waiting === 3);
    expect(activity(service).running).toBe(2);
    using other = await crowd(service, "/other", 3);
    await until("the others", () => activity(service).running === 5);
    for (const { sockets } of [bounded, files, other]) for (const socket of sockets) socket.close();
    await until("nothing", () => activity(service).running === 0);
  });

  test("of a connection: of all endpoints together", async () => {
    await using service = await serviceFrom({
      ...main("max-concurrent-queries: 8", "memory: {}, source: { max-concurrency: 1 }"),
      ...read("endless", ENDLESS, "connection: source\n"),
      ...read("both", QUICK, "connection: [memory, source]\n"),
      ...read("write", "CREATE OR REPLACE TABLE w AS SELECT 1 AS n", "method: POST\nconnection: source\n"),
      ...read("quick", QUICK),
    });
    using slow = await crowd(service, "/endless", 2);
    await until("the queue", () => activity(service).waiting === 1);
    using both = await crowd(service, "/both", 1);
    const write = service.request("/write", { method: "POST" });
    await until("all of them", () => activity(service).waiting === 3);
    expect(await service.json("/quick")).toEqual([{ n: false }]);
    expect(activity(service)).toMatchObject({ running: 1, waiting: 3 });
    for (const socket of slow.sockets) socket.close();
    await until("the other", () => both.statuses()[0] === 200);
    expect((await write).status).toBe(200);
  });

  test("a queued client can disconnect", async () => {
    await using service = await serviceFrom({
      ...main("max-concurrent-queries: 8"),
      ...read("endless", ENDLESS, "max-concurrency: 1\n"),
    });
    using slow = await crowd(service, "/endless", 3);
    await until("the queue", () => activity(service).waiting === 2);
    slow.sockets[1]?.close();
    slow.sockets[2]?.close();
    await until("nobody waits", () => activity(service).waiting === 0 && activity(service).running === 1);
  });
});

describe("how many queries run by default", () => {
  const cores = availableCores(readTextFile);
  const { maxConcurrentQueries: most, maxLocalQueries: mostLocal = 0 } = queryLimits(undefined, cores);
  const remote = "memory: {}, bucket: { properties: { path: 's3://bucket/orders' } }";

  test("local queries: cores + 1; those of another endpoint run beside them", async () => {
    await using service = await serviceFrom({
      ...main("query-timeout: 600s", remote),
      ...read("endless", ENDLESS),
      ...read("other", ENDLESS),
      ...read("quick", QUICK),
    });
    using slow = await crowd(service, "/endless", mostLocal + 5);
    await until("the queue", () => activity(service).waiting === 5);
    expect(activity(service).running).toBe(mostLocal);
    expect(await service.json("/quick")).toEqual([{ n: false }]);
    using other = await crowd(service, "/other", 2);
    await until("one of them", () => activity(service).waiting === 6);
    expect(activity(service).running).toBe(mostLocal + 1);
    for (const { sockets } of [slow, other]) for (const socket of sockets) socket.close();
    await until("nothing", () => activity(service).running === 0);
  });

  test("queries over a connection to remote files have all slots", async () => {
    await using service = await serviceFrom({
      ...main("query-timeout: 600s", remote),
      ...read("endless", ENDLESS, "connection: bucket\n"),
      ...read("local", ENDLESS),
    });
    using slow = await crowd(service, "/endless", most + 3);
    await until("the queue", () => activity(service).waiting === 3);
    expect(activity(service).running).toBe(most);
    for (const socket of slow.sockets) socket.close();
    await until("nothing", () => activity(service).running === 0);
  });

  test("a configured number holds for local queries too", async () => {
    await using service = await serviceFrom({
      ...main(`query-timeout: 600s, max-concurrent-queries: ${mostLocal + 2}`),
      ...read("endless", ENDLESS),
    });
    using slow = await crowd(service, "/endless", mostLocal + 5);
    await until("the queue", () => activity(service).waiting === 3);
    expect(activity(service).running).toBe(mostLocal + 2);
    for (const socket of slow.sockets) socket.close();
    await until("nothing", () => activity(service).running === 0);
  });
});

test.each(["", ", max-concurrent-queries: 1", ", max-concurrent-queries: 2"])(
  "pages with their totals, streams, files and writes at full load: all of them end%s",
  async (limits) => {
    await using service = await serviceFrom({
      ...main(
        `max-queued-requests: 1000, query-timeout: 600s${limits}`,
        "memory: { init: 'CREATE TABLE t AS SELECT range AS id FROM range(20000)' }",
      ),
      "page.yaml": "url-path: /page\ntemplate-source: page.sql\nconnection: memory\n",
      "page.sql": "SELECT id, random() AS r FROM t ORDER BY id",
      ...read("stream", "SELECT id, random() AS r FROM t"),
      ...read("write", "INSERT INTO t VALUES (1)", "method: POST\n"),
    });
    const responses = await Promise.all(
      Array.from({ length: 24 }, (_, index) => [
        service.get(`/page?limit=10&offset=${index}`),
        service.get("/stream"),
        service.get("/stream?format=parquet"),
        service.request("/write", { method: "POST" }),
      ]).flat(),
    );
    const sizes = await Promise.all(responses.map(async (each) => (await each.arrayBuffer()).byteLength));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
    expect(sizes.every((size) => size > 0)).toBe(true);
    expect(activity(service)).toMatchObject({ running: 0, waiting: 0 });
  },
);
