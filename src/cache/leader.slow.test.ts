import { expect } from "vitest";
import { sharedPostgres } from "../../test/postgres.ts";
import { failureOf, type TestEngine } from "../../test/suites/duckdb-engine.ts";
import { fileLake, postgresLake, testWithLake, testWithPostgresLake } from "../../test/suites/lake.ts";
import { type FakeClock, fakeClock, runPendingWork } from "../../test/turned-clock.ts";
import { until } from "../../test/until.ts";
import type { EmbeddedEngine } from "../engines/embedded-engine.ts";
import { NEVER_STOPPED } from "../engines/stop.ts";
import type { ServiceEvent } from "../events.ts";
import { type Statement, statement } from "../sql/statement.ts";
import { type Leadership, openLeadership } from "./leader.ts";
import type { Run } from "./store-sql.ts";

const LEASE_MS = 9_000;
const postgres = sharedPostgres();

interface Contender {
  readonly id: string;
  readonly leadership: Leadership;
  readonly events: readonly ServiceEvent[];
  readonly changes: readonly boolean[];
}

/** A clock, and how many of those who go by it are busy with the database. */
interface Stage {
  readonly clock: FakeClock;
  working: number;
}

async function contend(engine: EmbeddedEngine, id: string, stage: Stage): Promise<Contender> {
  const events: ServiceEvent[] = [];
  const changes: boolean[] = [];
  const counted: EmbeddedEngine = {
    ...engine,
    change: (change, work) => {
      stage.working++;
      return engine.change(change, work).finally(() => stage.working--);
    },
  };
  const leadership = await openLeadership({
    engine: counted,
    catalog: "cache",
    id,
    leaseMs: LEASE_MS,
    now: stage.clock.now,
    after: stage.clock.after,
    report: (event) => events.push(event),
    changed: (leads) => changes.push(leads),
  });
  return { id, leadership, events, changes };
}

const newStage = (): Stage => ({ clock: fakeClock(), working: 0 });

/** Turns the clock until something is so, and tells how long that took. While the database works, no time passes. */
async function turnUntil(what: string, stage: Stage, check: () => boolean): Promise<number> {
  const { clock } = stage;
  const began = clock.now();
  for (let tries = 0; !check(); tries++) {
    if (tries > 10_000) throw new Error(`turned the clock in vain: ${what}`);
    await clock.advance(50);
    await until("the database has answered", () => stage.working === 0);
    await runPendingWork();
  }
  return clock.now() - began;
}

/** A transaction as a refresh makes it: fenced, then some work, in which `meanwhile` happens. */
function fenced(t: TestEngine, leadership: Leadership, meanwhile: (run: Run) => Promise<void>): Promise<void> {
  const fence: readonly Statement[] = leadership.fence();
  return t.engine.change({ connections: [], touches: [], signal: NEVER_STOPPED }, async (run) => {
    for (const each of fence) await run(each);
    await meanwhile(run);
  });
}

const holders = async (t: TestEngine): Promise<unknown> =>
  (await t.read({ statements: "SELECT DISTINCT holder, term FROM cache.audit.leader" })).rows;

testWithLake("of two that begin one leads, and goes on leading", async () => {
  await using made = await fileLake();
  await using t = await made.open();
  const stage = newStage();
  const [a, b] = await Promise.all([contend(t.engine, "a", stage), contend(t.engine, "b", stage)]);
  const leads = (): readonly string[] => [a, b].filter(({ leadership }) => leadership.isLeader()).map(({ id }) => id);
  const [leader] = leads();
  expect([leader]).toEqual(leads());
  const end = stage.clock.now() + 3 * LEASE_MS;
  await turnUntil("three leases", stage, () => {
    expect(leads()).toEqual([leader]);
    return stage.clock.now() > end;
  });
  expect([...a.changes, ...b.changes]).toEqual([true]);
  expect([...a.events, ...b.events]).toEqual([]);
  expect(await holders(t)).toEqual([[leader, 1]]);
  await a.leadership.close();
  await b.leadership.close();
});

testWithLake("who steps down is followed at once", async () => {
  await using made = await fileLake();
  await using t = await made.open();
  const stage = newStage();
  const a = await contend(t.engine, "a", stage);
  const b = await contend(t.engine, "b", stage);
  expect([a.leadership.isLeader(), b.leadership.isLeader()]).toEqual([true, false]);
  await a.leadership.close();
  expect(a.leadership.isLeader()).toBe(false);
  expect(await turnUntil("the next leader", stage, b.leadership.isLeader)).toBeLessThan(LEASE_MS / 2);
  expect(await holders(t)).toEqual([["b", 2]]);
  await b.leadership.close();
});

testWithLake("signs of the leader do not pile up", async () => {
  await using made = await fileLake();
  await using t = await made.open();
  const stage = newStage();
  const a = await contend(t.engine, "a", stage);
  await t.sql("INSERT INTO cache.audit.leader SELECT 'a', 1, 1, NULL FROM range(10000)");
  const rows = async (): Promise<unknown> =>
    (await t.read({ statements: "SELECT count(*) FROM cache.audit.leader" })).rows;
  const next = stage.clock.now() + LEASE_MS / 2;
  await turnUntil("a sign", stage, () => stage.clock.now() > next);
  expect(await rows()).toEqual([[1]]);
  expect(a.leadership.isLeader()).toBe(true);
  await a.leadership.close();
});

testWithLake("an empty table is created again", async () => {
  await using made = await fileLake();
  await using t = await made.open();
  const stage = newStage();
  const a = await contend(t.engine, "a", stage);
  await t.sql("DELETE FROM cache.audit.leader");
  await turnUntil("the leader has noticed", stage, () => a.changes.includes(false));
  await turnUntil("a leader", stage, a.leadership.isLeader);
  expect(a.changes).toEqual([true, false, true]);
  await a.leadership.close();
});

testWithPostgresLake("of many processes that begin in an empty catalog one leads", async () => {
  await using made = await postgresLake(await postgres());
  const engines = await Promise.all(["a", "b", "c"].map(() => made.open()));
  try {
    const stage = newStage();
    const all = await Promise.all(engines.map((t, index) => contend(t.engine, `${index}`, stage)));
    expect(all.filter(({ leadership }) => leadership.isLeader())).toHaveLength(1);
    expect(all.flatMap(({ changes }) => changes)).toEqual([true]);
    expect(all.flatMap(({ events }) => events)).toEqual([]);
    await Promise.all(all.map(({ leadership }) => leadership.close()));
  } finally {
    await Promise.all(engines.map((t) => t[Symbol.asyncDispose]()));
  }
});

testWithPostgresLake(
  "a leader that gives no sign is replaced after its lease, and is refused from then on",
  async () => {
    await using made = await postgresLake(await postgres());
    await using ta = await made.open();
    await using tb = await made.open();
    await ta.sql("CREATE TABLE cache.audit.work (a VARCHAR)");
    // Its clock stands still: it believes that it leads.
    const stopped = newStage();
    const stage = newStage();
    const a = await contend(ta.engine, "a", stopped);
    const b = await contend(tb.engine, "b", stage);
    const insert = (who: string) => async (run: Run) =>
      void (await run(statement(`INSERT INTO cache.audit.work VALUES ('${who}')`)));
    await fenced(ta, a.leadership, insert("a"));
    const refused = failureOf(
      fenced(ta, a.leadership, async (run) => {
        await insert("a, late")(run);
        const ms = await turnUntil("the next leader", stage, b.leadership.isLeader);
        expect(ms).toBeGreaterThanOrEqual(LEASE_MS);
        expect(ms).toBeLessThan(1.5 * LEASE_MS);
        await fenced(tb, b.leadership, insert("b"));
      }),
    );
    expect((await refused).failure).toMatchObject({
      kind: "query-failed",
      message: expect.stringContaining("another process leads"),
    });
    expect((await failureOf(fenced(ta, a.leadership, insert("a, again")))).failure.kind).toBe("query-failed");
    expect((await ta.read({ statements: "FROM cache.audit.work ORDER BY 1" })).rows).toEqual([["a"], ["b"]]);
    await turnUntil("the old leader knows", stopped, () => a.changes.includes(false));
    expect(a.leadership.isLeader()).toBe(false);
    expect(await holders(ta)).toEqual([["b", 2]]);
    await a.leadership.close();
    // A process that has left does not depose the new leader.
    expect(await holders(ta)).toEqual([["b", 2]]);
    await b.leadership.close();
  },
);

testWithPostgresLake(
  "many fenced transactions of the leader are not in each other's way, and signs are not in theirs",
  async () => {
    await using made = await postgresLake(await postgres());
    await using t = await made.open();
    await t.sql("CREATE TABLE cache.audit.work (a INTEGER)");
    const stage = newStage();
    const a = await contend(t.engine, "a", stage);
    let runs = 0;
    let ready = 0;
    let go = (): void => {};
    const all = new Promise<void>((resolve) => {
      go = resolve;
    });
    const works = [1, 2, 3].map((work) =>
      fenced(t, a.leadership, async (run) => {
        runs++;
        await run(statement(`INSERT INTO cache.audit.work VALUES (${work})`));
        ready++;
        await all;
      }),
    );
    await until("all of them at work", () => ready === 3);
    const signs = async (): Promise<number> =>
      Number((await t.read({ statements: "SELECT max(sign) FROM cache.audit.leader" })).rows[0]?.[0]);
    const before = await signs();
    const next = stage.clock.now() + LEASE_MS / 2;
    await turnUntil("a sign", stage, () => stage.clock.now() > next);
    expect(await signs()).toBeGreaterThan(before);
    go();
    await Promise.all(works);
    expect(runs).toBe(3);
    await a.leadership.close();
  },
);

testWithPostgresLake("a server that is away is told once, and so is its return", async () => {
  const server = await postgres();
  await using made = await postgresLake(server);
  await using t = await made.open();
  const stage = newStage();
  const a = await contend(t.engine, "a", stage);
  await server.kill();
  const ms = await turnUntil("the lead has lapsed", stage, () => !a.leadership.isLeader());
  expect(ms).toBeLessThanOrEqual(LEASE_MS + 50);
  await turnUntil("it was told", stage, () => a.events.length > 0);
  const later = stage.clock.now() + 3 * LEASE_MS;
  await turnUntil("it was tried again and again", stage, () => stage.clock.now() > later);
  await server.restart();
  await turnUntil("it leads again", stage, a.leadership.isLeader);
  expect(a.events).toEqual([
    {
      kind: "dependency-down",
      dependency: "cache leadership",
      message: expect.stringContaining("refreshes nothing by schedule"),
    },
    { kind: "dependency-up", dependency: "cache leadership" },
  ]);
  expect(JSON.stringify(a.events)).not.toContain("geheim");
  expect(await holders(t)).toEqual([["a", 1]]);
  await a.leadership.close();
});
