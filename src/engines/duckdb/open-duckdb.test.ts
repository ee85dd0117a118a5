import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { answerOf, readOf } from "../../../test/suites/duckdb-engine.ts";
import type { EmbeddedEngine } from "../embedded-engine.ts";
import { EngineOpenError } from "../engine.ts";
import { openDuckDb } from "./open-duckdb.ts";

function open(path: string | undefined, settings: Readonly<Record<string, string>> = {}): Promise<EmbeddedEngine> {
  return openDuckDb({
    path,
    settings: new Map(Object.entries(settings)),
    connections: [],
    maxConcurrentQueries: 2,
    maxQueued: 10,
  });
}

test.each([
  [{ nosuch: "1" }, "nosuch", "nosuch"],
  [{ threads: "many" }, "threads", "many"],
  [{ memory_limit: "1GB", max_memory: "lots" }, "max_memory", "Memory"],
  [{ access_mode: "sometimes" }, "access_mode", "sometimes"],
  [{ TimeZone: "Nowhere/Land" }, "TimeZone", "Nowhere/Land"],
])("the bad setting in %j is %s", async (settings, setting, message) => {
  const error = await open(undefined, settings).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(EngineOpenError);
  expect(error).toMatchObject({ setting, message: expect.stringContaining(message) });
});

test("settings of the database and of its connections hold", async () => {
  const engine = await open(undefined, {
    threads: "3",
    TimeZone: "Asia/Tokyo",
    default_order: "DESC",
    search_path: "main",
  });
  const sql =
    "SELECT current_setting('threads')::VARCHAR, current_setting('TimeZone'), current_setting('default_order')";
  expect((await answerOf(await engine.read(readOf({ statements: sql })))).rows).toEqual([["3", "Asia/Tokyo", "DESC"]]);
  await engine.close();
});

test("a file that cannot be opened, and one that is kept", async () => {
  const folder = await mkdtemp(join(tmpdir(), "eider-open-"));
  try {
    await writeFile(join(folder, "text"), "this is no database");
    for (const path of [join(folder, "text"), join(folder, "none", "x.db")]) {
      const error = await open(path).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ name: "EngineOpenError", setting: undefined });
    }
    for (const settings of [{}, { access_mode: "READ_ONLY" }])
      await (await open(join(folder, "x.db"), settings)).close();
  } finally {
    await rm(folder, { recursive: true });
  }
});
