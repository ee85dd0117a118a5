import { readdirSync, readlinkSync } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readOf, statement } from "../../../test/suites/duckdb-engine.ts";
import type { EmbeddedEngine } from "../embedded-engine.ts";
import { openDatabase } from "./database/open-database.ts";
import { engineOver } from "./open-duckdb.ts";

/** The files in a folder that this process has open. */
function openFilesIn(folder: string): readonly string[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(folder) ? [path] : [];
    } catch {
      // It was closed meanwhile.
      return [];
    }
  });
}

/** Uses a database in a file, and closes it. Returns the files that are still open. */
async function leftOpenBy(use: (engine: EmbeddedEngine) => Promise<void>): Promise<readonly string[]> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "eider-close-")));
  try {
    const opened = await openDatabase(join(folder, "data.duckdb"), new Map([["threads", "2"]]));
    const engine = engineOver(opened, { connections: [], maxConcurrentQueries: 4, maxQueued: 10 });
    await use(engine);
    expect(openFilesIn(folder)).not.toEqual([]);
    await engine.close();
    return openFilesIn(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const MANY = "SELECT range AS id, 'some text ' || range AS text FROM range(1000000)";

// While a native object refers to the database, its file stays open, and another database must not open it.
test.runIf(process.platform === "linux").each<[string, (engine: EmbeddedEngine) => Promise<void>]>([
  [
    "rows that were read to their end",
    async (engine) => {
      const rows = await engine.read(readOf({ statements: MANY }));
      while ((await rows.next()) !== undefined);
    },
  ],
  [
    "rows that were closed early",
    async (engine) => {
      const rows = await engine.read(readOf({ statements: MANY }));
      expect((await rows.next())?.rows).toBeGreaterThan(0);
      await rows.close();
    },
  ],
  [
    "rows that are still being read",
    async (engine) => {
      const rows = await engine.read(readOf({ statements: MANY }));
      expect((await rows.next())?.rows).toBeGreaterThan(0);
    },
  ],
  [
    "rows whose reader was cancelled",
    async (engine) => {
      const controller = new AbortController();
      const rows = await engine.read(readOf({ statements: MANY, signal: controller.signal }));
      expect((await rows.next())?.rows).toBeGreaterThan(0);
      controller.abort(new Error("gone"));
      await expect(rows.next()).rejects.toThrow("gone");
    },
  ],
  [
    "a large page",
    async (engine) => {
      const rows = await engine.read(readOf({ statements: MANY, window: { limit: 100_000, offset: 10 } }));
      let count = 0;
      for (let chunk = await rows.next(); chunk !== undefined; chunk = await rows.next()) count += chunk.rows;
      expect(count).toBe(100_000);
    },
  ],
  [
    "a statement that DuckDB expands",
    async (engine) => {
      const rows = await engine.read(
        readOf({ statements: "PIVOT (SELECT range % 3 AS x FROM range(10)) ON x USING count(*)" }),
      );
      expect((await rows.next())?.rows).toBe(1);
      await rows.close();
    },
  ],
  [
    "reads during which other tables change",
    async (engine) => {
      const change = async (...sqls: readonly string[]): Promise<void> => {
        const { signal } = new AbortController();
        await engine.change({ connections: [], touches: ["t", "other"], signal }, async (run) => {
          for (const sql of sqls) await run(statement(sql));
        });
      };
      await change("CREATE TABLE other (id INTEGER)", "CREATE TABLE t AS SELECT 1 AS id");
      for (let times = 0; times < 100; times++) {
        // A new statement is streamed, because the number of its rows is unknown.
        const reading = engine.read(readOf({ statements: `SELECT id AS id_${times} FROM t` }));
        const changing = change("INSERT INTO other VALUES (1)");
        expect((await (await reading).next())?.rows).toBe(1);
        await changing;
      }
    },
  ],
])("closes the database after %s", async (_, use) => {
  expect(await leftOpenBy(use)).toEqual([]);
});
