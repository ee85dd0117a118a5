import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import duckdb from "@duckdb/node-bindings";
import { afterEach, beforeEach, expect, test } from "vitest";
import { until } from "../../../../test/until.ts";
import { fileIdentity } from "../../../config/files.ts";
import type { ReplacedFile } from "../../embedded-engine.ts";
import { inspect } from "../plan/inspect.ts";
import { openReplacedFiles, type ReplacedFiles } from "./replaced-files.ts";

let folder: string;
let database: duckdb.Database;
let connection: duckdb.Connection;
let files: ReplacedFiles;
let told: ReplacedFile[];
let replacing: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "eider-test-"));
  database = await duckdb.open(":memory:");
  connection = await duckdb.connect(database);
  told = [];
  replacing = 0;
  files = openReplacedFiles({
    database,
    mask: (message) => message,
    fileIdentity,
    onFileReplaced: (file) => told.push(file),
    onReplacing: () => {
      replacing++;
      return () => {
        replacing--;
      };
    },
  });
});

afterEach(async () => {
  await files.close();
  duckdb.disconnect_sync(connection);
  duckdb.close_sync(database);
  await rm(folder, { recursive: true });
});

async function makeFile(name: string, value: number): Promise<string> {
  const path = join(folder, name);
  const made = await duckdb.open(path);
  const session = await duckdb.connect(made);
  await duckdb.query(session, `CREATE TABLE t AS SELECT ${value} AS v`);
  duckdb.disconnect_sync(session);
  duckdb.close_sync(made);
  return path;
}

async function found(sql: string): Promise<string | null | undefined> {
  return (await inspect(connection, { sql, values: [] }))[0]?.[0];
}

test("a name with quotes, dots and blanks", async () => {
  const live = await makeFile("live.db", 1);
  await duckdb.query(connection, `ATTACH '${live}' AS "a ""b"".c" (READ_ONLY)`);
  await files.findAttached();
  await rename(await makeFile("next.db", 2), live);
  await until("the new file", () => told.length === 1);
  expect(told).toEqual([{ name: 'a "b".c', problem: undefined }]);
  expect(await found('SELECT v::VARCHAR FROM "a ""b"".c".t')).toBe("2");
  expect(replacing).toBe(0);
});

test("what is attached for writing, in memory or under another type is left alone", async () => {
  const live = await makeFile("live.db", 1);
  await duckdb.query(connection, `ATTACH '${live}' AS live; ATTACH ':memory:' AS other`);
  await files.findAttached();
  let runs = 0;
  const work = async (): Promise<never> => {
    runs++;
    throw new Error("no");
  };
  await expect(files.retryIfReplaced(work)).rejects.toThrow("no");
  expect(runs).toBe(1);
});

test("a transaction sees one file to its end; a file that is none is told of once", async () => {
  const live = await makeFile("live.db", 1);
  await duckdb.query(connection, `ATTACH '${live}' AS live (READ_ONLY)`);
  await files.findAttached();
  await duckdb.query(connection, "BEGIN");
  expect(await found("SELECT v::VARCHAR FROM live.t")).toBe("1");
  await rename(await makeFile("next.db", 2), live);
  await until("the new file", () => told.length === 1);
  expect(await found("SELECT v::VARCHAR FROM live.t")).toBe("1");
  await duckdb.query(connection, "COMMIT");
  expect(await found("SELECT v::VARCHAR FROM live.t")).toBe("2");
  await writeFile(`${live}.bad`, "no database".repeat(1000));
  await rename(`${live}.bad`, live);
  await until("the bad file", () => told.length === 2);
  expect(told[1]?.problem).toMatch(/not a valid DuckDB database file/);
  expect(await found("SELECT v::VARCHAR FROM live.t")).toBe("2");
});

test("work that fails while a file is replaced is done once more, other work is not", async () => {
  const live = await makeFile("live.db", 1);
  await duckdb.query(connection, `ATTACH '${live}' AS live (READ_ONLY)`);
  await files.findAttached();
  await rename(await makeFile("next.db", 2), live);
  let runs = 0;
  const across = files.retryIfReplaced(async () => {
    if (runs++ > 0) return "done";
    await until("the new file", () => told.length === 1);
    throw new Error("it was not there for a moment");
  });
  expect(await across).toBe("done");
  await expect(files.retryIfReplaced(() => Promise.reject(new Error("always")))).rejects.toThrow("always");
  expect(runs).toBe(2);
});
