import { mkdir, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { sharedPostgres } from "../../test/postgres.ts";
import { failureOf, type TestEngine } from "../../test/suites/duckdb-engine.ts";
import { fileLake, postgresLake, type TestLake, testWithLake, testWithPostgresLake } from "../../test/suites/lake.ts";
import { fakeClock } from "../../test/turned-clock.ts";
import { NEVER_STOPPED } from "../engines/stop.ts";
import type { ServiceEvent } from "../events.ts";
import { statement } from "../sql/statement.ts";
import { type LakeUpkeep, openLakeUpkeep } from "./lake-upkeep.ts";
import { openLeadership } from "./leader.ts";
import type { Run } from "./store-sql.ts";

const MINUTE = 60_000;
const postgres = sharedPostgres();

interface Kept {
  readonly upkeep: LakeUpkeep;
  readonly events: readonly ServiceEvent[];
  /** Lets time pass, and cleans. */
  cleanAfter(ms: number): Promise<void>;
}

function keep({ engine }: TestEngine, { lake }: TestLake): Kept {
  const clock = fakeClock();
  const events: ServiceEvent[] = [];
  const upkeep = openLakeUpkeep({ engine, lake, now: clock.now, report: (event) => events.push(event) });
  return {
    upkeep,
    events,
    async cleanAfter(ms) {
      await clock.advance(ms);
      await upkeep.clean();
    },
  };
}

const change = (t: TestEngine, work: (run: Run) => Promise<void>): Promise<void> =>
  t.engine.change({ connections: [], touches: [], signal: NEVER_STOPPED }, work);

const TABLES =
  "CREATE SCHEMA cache.s; CREATE TABLE cache.s.t1 AS SELECT 1 AS a; CREATE TABLE cache.s.t2 AS SELECT 2 AS a";
const REPLACED =
  "BEGIN; CREATE TABLE cache.s.t3 AS SELECT 3 AS a; DROP TABLE cache.s.t1; DROP TABLE cache.s.t2; COMMIT";

const tablesIn = (files: readonly string[]): readonly string[] => files.map((file) => file.split("/")[1] ?? "");
const versionsOf = async (t: TestEngine): Promise<unknown> =>
  (await t.read({ statements: "SELECT count(*) FROM ducklake_snapshots('cache')" })).rows;

testWithLake("files of dropped tables go when no read can need them", async () => {
  await using made = await fileLake();
  await using t = await made.open();
  await t.sql(TABLES);
  const kept = keep(t, made);
  await t.sql(REPLACED);
  await kept.cleanAfter(0);
  await t.sql("CREATE TABLE cache.s.t4 AS SELECT 4 AS a");
  await kept.cleanAfter(14 * MINUTE);
  expect(tablesIn(await made.files())).toEqual(["t1", "t2", "t3", "t4"]);
  await kept.cleanAfter(2 * MINUTE);
  expect(tablesIn(await made.files())).toEqual(["t3", "t4"]);
  expect(await versionsOf(t)).toEqual([[2]]);
  expect((await t.read({ statements: "FROM cache.s.t3" })).rows).toEqual([[3]]);
});

testWithPostgresLake("files go when no transaction of any process can read them", async () => {
  await using made = await postgresLake(await postgres());
  await using t = await made.open();
  await using other = await made.open();
  await t.sql(TABLES);
  const kept = keep(t, made);
  await change(other, async (run) => {
    expect(await run(statement("SELECT a::VARCHAR FROM cache.s.t1"))).toEqual([["1"]]);
    await t.sql(REPLACED);
    for (let times = 0; times < 3; times++) await kept.cleanAfter(MINUTE);
    expect(await run(statement("SELECT a::VARCHAR FROM cache.s.t2"))).toEqual([["2"]]);
    expect(kept.events).toEqual([]);
    await kept.cleanAfter(70 * MINUTE);
    await kept.cleanAfter(MINUTE);
  });
  expect(tablesIn(await made.files())).toEqual(["t1", "t2", "t3"]);
  await kept.cleanAfter(MINUTE);
  await kept.cleanAfter(MINUTE);
  expect(tablesIn(await made.files())).toEqual(["t3"]);
  expect(await versionsOf(t)).toEqual([[1]]);
  expect((await other.read({ statements: "FROM cache.s.t3" })).rows).toEqual([[3]]);
  expect(kept.events).toEqual([
    {
      kind: "dependency-down",
      dependency: "cache clean-up",
      message: expect.stringContaining("for more than an hour"),
    },
    { kind: "dependency-up", dependency: "cache clean-up" },
  ]);
});

testWithPostgresLake("a leader that was stopped is refused, however much was cleaned up since", async () => {
  await using made = await postgresLake(await postgres());
  await using ta = await made.open();
  await using tb = await made.open();
  await ta.sql("CREATE SCHEMA cache.s; CREATE TABLE cache.s.work (a INTEGER)");
  const clock = fakeClock();
  const options = { catalog: "cache", leaseMs: 9_000, after: clock.after, report: () => {}, changed: () => {} };
  const a = await openLeadership({ ...options, engine: ta.engine, id: "a", now: clock.now });
  const fence = a.fence();
  let tries = 0;
  const refused = failureOf(
    change(ta, async (run) => {
      for (const each of fence) await run(each);
      await run(statement("INSERT INTO cache.s.work VALUES (1)"));
      if (tries++ > 0) return;
      await tb.sql(
        "BEGIN; DELETE FROM cache.audit.leader; INSERT INTO cache.audit.leader VALUES ('b', 2, 1, NULL); COMMIT",
      );
      const kept = keep(tb, made);
      for (let times = 0; times < 4; times++) {
        await tb.sql(`CREATE TABLE cache.s.t${times} AS SELECT 1 AS a`);
        await kept.cleanAfter(MINUTE);
      }
    }),
  );
  expect((await refused).failure).toMatchObject({ kind: "query-failed", message: expect.stringContaining("leads") });
  expect((await tb.read({ statements: "FROM cache.s.work" })).rows).toEqual([]);
  await a.close();
});

testWithLake("leftovers of a killed process go on request, and nothing else does", async () => {
  await using made = await fileLake();
  await using t = await made.open();
  await t.sql(TABLES);
  const { upkeep } = keep(t, made);
  const write = async (name: string, daysAgo: number): Promise<void> => {
    const path = join(made.folder, "rows", name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, "");
    const then = Date.now() / 1000 - daysAgo * 24 * 3600;
    await utimes(path, then, then);
  };
  const orphan = "s/t9__1_0123456789abcdef/ducklake-01a1df40-a632-7cee-afad-4581c7d408b6.parquet";
  const atWork = "s/t9__2_0123456789abcdef/ducklake-01a1df40-a632-7cee-afad-4581c7d408b7.parquet";
  await write(orphan, 2);
  await write(atWork, 0);
  await write("mine.parquet", 2);
  await expect(upkeep.deleteOrphans()).rejects.toThrow(/mine\.parquet is in the data path of the cache/);
  expect(await made.files()).toEqual(expect.arrayContaining([orphan, atWork, "mine.parquet"]));
  await write("mine.parquet", 0);
  expect(await upkeep.deleteOrphans()).toBe(1);
  expect(await upkeep.deleteOrphans()).toBe(0);
  expect(await made.files()).toEqual(expect.arrayContaining([atWork, "mine.parquet"]));
  expect(await made.files()).not.toContain(orphan);
  expect((await t.read({ statements: "FROM cache.s.t1 UNION ALL FROM cache.s.t2" })).rows).toEqual([[1], [2]]);
});
