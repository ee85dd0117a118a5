import { expect, test } from "vitest";
import type { ServiceEvent } from "../events.ts";
import { type Failure, RequestFailure } from "../failure.ts";
import type { StaleMark, StaleMarks } from "./stale-marks.ts";
import { openWriteMarks, type WriteMarks } from "./write-marks.ts";

const NAME = { schema: "cache", table: "t" };
const HOUR_MS = 60 * 60_000;

interface Marks {
  readonly marks: WriteMarks;
  /** What a start would find. */
  readonly stored: Map<string, StaleMark>;
  readonly events: ServiceEvent[];
  readonly clock: { ms: number };
  fails(failure: Failure | undefined): void;
}

/** Marks in a map, with a clock to turn. */
function marksWith({ isShared = false } = {}): Marks {
  const stored = new Map<string, StaleMark>();
  const events: ServiceEvent[] = [];
  const clock = { ms: 0 };
  let failure: Failure | undefined;
  let made = 0;
  const database: StaleMarks = {
    load: async () => [...stored.values()],
    async add(name, action) {
      if (failure !== undefined) throw new RequestFailure(failure);
      const uid = `mark ${++made}`;
      stored.set(uid, { name, uid, action });
      return uid;
    },
    async remove(uids) {
      for (const uid of uids) stored.delete(uid);
    },
  };
  const marks = openWriteMarks({
    markStore: database,
    time: () => clock.ms,
    isShared,
    report: (event) => void events.push(event),
  });
  return {
    marks,
    stored,
    events,
    clock,
    fails(next) {
      failure = next;
    },
  };
}

const NOTHING = async (): Promise<void> => {};

test("a mark is stored before the write, and stays until a refresh includes it", async () => {
  const { marks, stored } = marksWith();
  const cache = marks.forCache(NAME);
  const end = await cache.begin("invalidate");
  expect([...stored.values()]).toEqual([{ name: NAME, uid: "mark 1", action: "invalidate" }]);
  // The refresh may not see a write that is not over.
  await cache.runRefresh(NOTHING);
  end({ changed: true });
  await marks.close();
  expect(stored.size).toBe(1);
  await cache.runRefresh(NOTHING);
  await marks.close();
  expect(stored.size).toBe(0);
});

test("writes share a mark until a refresh begins; one that comes during it has its own", async () => {
  const { marks, stored } = marksWith();
  const cache = marks.forCache(NAME);
  for (const _ of [1, 2, 3]) (await cache.begin("invalidate"))({ changed: true });
  expect([...stored.keys()]).toEqual(["mark 1"]);
  await cache.runRefresh(async () => {
    (await cache.begin("invalidate"))({ changed: true });
    expect([...stored.keys()]).toEqual(["mark 1", "mark 2"]);
  });
  await marks.close();
  expect([...stored.keys()]).toEqual(["mark 2"]);
});

test("a refresh that fails removes nothing, and its marks are shared again", async () => {
  const { marks, stored } = marksWith();
  const cache = marks.forCache(NAME);
  (await cache.begin("refresh"))({ changed: true });
  await expect(cache.runRefresh(() => Promise.reject(new Error("down")))).rejects.toThrow("down");
  (await cache.begin("invalidate"))({ changed: true });
  await marks.close();
  expect([...stored.keys()]).toEqual(["mark 1"]);
});

test("a write that changed nothing leaves no mark, unless another one needs it", async () => {
  const { marks, stored } = marksWith();
  const cache = marks.forCache(NAME);
  (await cache.begin("refresh"))({ changed: false });
  await marks.close();
  expect(stored.size).toBe(0);
  const ends = [await cache.begin("refresh"), await cache.begin("refresh")];
  ends[0]?.({ changed: true });
  ends[1]?.({ changed: false });
  await marks.close();
  expect(stored.size).toBe(1);
});

test("a refresh is owed by what an earlier process has left, not by what only made the cache stale", () => {
  const { marks } = marksWith();
  const cache = marks.forCache(NAME);
  cache.adopt([{ name: NAME, uid: "a", action: "invalidate" }]);
  expect(cache.owesRefresh()).toBe(false);
  cache.adopt([{ name: NAME, uid: "b", action: "refresh" }]);
  expect(cache.owesRefresh()).toBe(true);
});

test("a full disk of the cache stops no write; a full queue does, before it runs", async () => {
  const { marks, stored, events, fails } = marksWith();
  const cache = marks.forCache(NAME);
  fails({ kind: "query-failed", message: "No space left on device" });
  for (const _ of [1, 2]) (await cache.begin("invalidate"))({ changed: true });
  expect(events).toEqual([
    {
      kind: "dependency-down",
      dependency: "cache database",
      message: "No space left on device; after a crash, the cache cache.t may be missing the latest writes",
    },
  ]);
  fails({ kind: "draining" });
  await expect(cache.begin("invalidate")).rejects.toMatchObject({ failure: { kind: "draining" } });
  fails(undefined);
  (await cache.begin("invalidate"))({ changed: true });
  expect(stored.size).toBe(1);
  expect(events.at(-1)).toEqual({ kind: "dependency-up", dependency: "cache database" });
});

test("in a shared catalog, a mark of another process stays for an hour, and none is shared for long", async () => {
  const { marks, stored, clock } = marksWith({ isShared: true });
  const cache = marks.forCache(NAME);
  const other = { name: NAME, uid: "other", action: "invalidate" } as const;
  stored.set("other", other);
  cache.adopt([other]);
  (await cache.begin("invalidate"))({ changed: true });
  await cache.runRefresh(NOTHING);
  await marks.close();
  expect([...stored.keys()]).toEqual(["other"]);
  (await cache.begin("invalidate"))({ changed: true });
  clock.ms += HOUR_MS;
  (await cache.begin("invalidate"))({ changed: true });
  expect(stored.size).toBe(3);
  await cache.runRefresh(NOTHING);
  await marks.close();
  expect(stored.size).toBe(0);
});

test("without a database that outlives the process, no mark is needed", async () => {
  const marks = openWriteMarks({ markStore: undefined, time: () => 0, isShared: false, report() {} });
  const cache = marks.forCache(NAME);
  (await cache.begin("refresh"))({ changed: true });
  expect(await cache.runRefresh(async () => 1)).toBe(1);
  expect(cache.owesRefresh()).toBe(false);
});
