import { describe, expect, test } from "vitest";
import { type Files, serviceFrom, type TestService } from "../../test/service.ts";
import { type FakeClock, fakeClock } from "../../test/turned-clock.ts";
import { until } from "../../test/until.ts";
import type { ServiceEvent } from "../events.ts";
import { type HeartbeatEndpoint, type Heartbeats, openHeartbeats } from "./open-heartbeats.ts";

const MAIN = `connections: { memory: { init: "CREATE TABLE IF NOT EXISTS seen (name VARCHAR); CREATE TABLE IF NOT EXISTS t (i INTEGER)" } }
heartbeat: { worker-interval: 30 }
`;

function beating(name: string, sql: string, yaml = "heartbeat: {}\n"): Files {
  return {
    [`${name}.yaml`]: `url-path: /${name}\ntemplate-source: ${name}.sql\nconnection: [memory]\nwith-pagination: false\n${yaml}`,
    [`${name}.sql`]: sql,
  };
}

interface Turned {
  readonly clock: FakeClock;
  readonly heartbeats: Heartbeats;
  readonly events: readonly ServiceEvent[];
}

const beatingOf = ({ service }: TestService): readonly HeartbeatEndpoint[] =>
  service.endpoints.flatMap((endpoint, index) => {
    const heartbeat = service.project.endpoints[index]?.heartbeat;
    return heartbeat === undefined ? [] : { endpoint, heartbeat };
  });

/** The heartbeats of a service, by a clock that the test turns; those that it has by itself rest. */
function turned(served: TestService): Turned {
  served.observation.surface.pause();
  const clock = fakeClock();
  const events: ServiceEvent[] = [];
  const heart = { services: served.service, endpoints: beatingOf(served), intervalMs: 30_000 };
  const report = (event: ServiceEvent) => events.push(event);
  return { clock, events, heartbeats: openHeartbeats(heart, { after: clock.after, now: clock.now, report }) };
}

const runs = ({ heartbeats }: Turned): Record<string, number> =>
  Object.fromEntries(heartbeats.statuses().map(({ endpoint, runs: count }) => [endpoint, count]));

/** Lets time pass, then waits until every run that it set off is over. */
async function beat(on: Turned, ms: number, expected: Record<string, number>): Promise<void> {
  await on.clock.advance(ms);
  await until("the runs", () => JSON.stringify(runs(on)) === JSON.stringify(expected));
  // The next one is on the clock when this one is over.
  await until("the next", () => on.clock.timers() > 0);
}

test("each is run at once and then every interval, with its own values", async () => {
  await using served = await serviceFrom({
    "eider.yaml": MAIN,
    ...beating(
      "n",
      "SELECT 10 // {{params.n}} AS n, error('n is ' || {{params.n}})",
      "request:\n  - { field-name: n, field-in: query, validators: [{ type: int }] }\nheartbeat: { params: { n: '5' } }\n",
    ),
    ...beating("m", "SELECT 1 AS m"),
    ...beating("silent", "SELECT error('never run')", ""),
  });
  const on = turned(served);
  await beat(on, 0, { "GET /m": 1, "GET /n": 1 });
  expect(on.events).toEqual([
    { kind: "heartbeat-failed", endpoint: "GET /n", message: "Invalid Input Error: n is ***" },
  ]);
  await on.clock.advance(29_999);
  expect(runs(on)).toEqual({ "GET /m": 1, "GET /n": 1 });
  await beat(on, 1, { "GET /m": 2, "GET /n": 2 });
  // It goes on failing, which is no news.
  expect(on.events).toHaveLength(1);
  expect(on.heartbeats.statuses()).toMatchObject([
    { endpoint: "GET /m", works: true, failures: 0 },
    { endpoint: "GET /n", works: false, failures: 2 },
  ]);
  on.heartbeats.stop();
});

test("one that works again is told, and health names it only meanwhile", async () => {
  await using served = await serviceFrom({
    "eider.yaml": MAIN,
    ...beating("t", "SELECT CASE WHEN count(*) > 0 THEN error('too many') ELSE 1 END AS a FROM t"),
    "add.yaml": "url-path: /add\nmethod: POST\ntemplate-source: add.sql\nconnection: [memory]\n",
    "add.sql": "INSERT INTO t VALUES (1)",
    "clear.yaml": "url-path: /clear\nmethod: POST\ntemplate-source: clear.sql\nconnection: [memory]\n",
    "clear.sql": "DELETE FROM t",
  });
  const on = turned(served);
  const post = (path: string) =>
    served.request(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" });
  await beat(on, 0, { "GET /t": 1 });
  await post("/add");
  await beat(on, 30_000, { "GET /t": 2 });
  expect(on.heartbeats.statuses()).toMatchObject([{ works: false }]);
  await post("/clear");
  await beat(on, 30_000, { "GET /t": 3 });
  expect(on.events.map(({ kind }) => kind)).toEqual(["heartbeat-failed", "heartbeat-works"]);
  on.heartbeats.stop();
});

describe("a run that takes longer than the interval", () => {
  const SLOW: Files = {
    "eider.yaml": MAIN,
    ...beating("slow", "SELECT sum(a.range * b.range) AS s FROM range(1000000) a, range(1000000) b"),
  };

  test("is never run twice at the same time, and ends when it is told to stop", async () => {
    await using served = await serviceFrom(SLOW);
    const on = turned(served);
    await on.clock.advance(0);
    const { engine } = served.service;
    await until("the query", () => engine.activity().running === 1);
    await on.clock.advance(300_000);
    expect(engine.activity()).toMatchObject({ running: 1, waiting: 0 });
    on.heartbeats.stop();
    await until("its end", () => engine.activity().running === 0);
    // That it was ended says nothing of the endpoint.
    expect(on.heartbeats.statuses()).toMatchObject([{ works: undefined, runs: 0 }]);
    expect([on.events, on.clock.timers()]).toEqual([[], 0]);
  });

  test("ends when the database is reopened, and begins again after it", async () => {
    await using served = await serviceFrom(SLOW);
    const on = turned(served);
    await on.clock.advance(0);
    const { engine } = served.service;
    await until("the query", () => engine.activity().running === 1);
    const release = on.heartbeats.pause();
    await until("its end", () => engine.activity().running === 0);
    await on.clock.advance(300_000);
    expect(engine.activity().running).toBe(0);
    release();
    await until("the next", async () => {
      await on.clock.advance(0);
      return engine.activity().running === 1;
    });
    on.heartbeats.stop();
  });
});

test("another state brings its own set; what is known of the rest stays", async () => {
  await using served = await serviceFrom({
    "eider.yaml": MAIN,
    ...beating("a", "SELECT 1 AS a"),
    ...beating("b", "SELECT 2 AS b"),
  });
  const on = turned(served);
  await beat(on, 0, { "GET /a": 1, "GET /b": 1 });
  const services = served.service;
  on.heartbeats.use({ services, endpoints: beatingOf(served).slice(0, 1), intervalMs: 30_000 });
  await beat(on, 0, { "GET /a": 2 });
  on.heartbeats.use({ services, endpoints: beatingOf(served), intervalMs: undefined });
  await on.clock.advance(300_000);
  expect(on.heartbeats.statuses()).toEqual([]);
  on.heartbeats.stop();
});
