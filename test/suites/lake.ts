import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { attachLake, type Lake } from "../../src/cache/ducklake.ts";
import { afterMs } from "../../src/cache/schedule.ts";
import { extensionDirectory, missingExtensions } from "../extensions.ts";
import { testNeeding } from "../needing.ts";
import { missingPostgres, type TestPostgres } from "../postgres.ts";
import { type TestEngine, type TestEngineOptions, testEngine } from "./duckdb-engine.ts";

export const testWithLake = testNeeding(missingExtensions("ducklake"));
export const testWithSqliteLake = testNeeding(missingExtensions("ducklake", "sqlite_scanner"));
export const testWithPostgresLake = testNeeding(missingExtensions("ducklake", "postgres_scanner"), missingPostgres);

/** A lake in its own temporary folder, deleted on disposal. */
export interface TestLake extends AsyncDisposable {
  readonly lake: Lake;
  readonly folder: string;
  /** Another engine that has it attached, as another process would. */
  open(setup?: string, options?: TestEngineOptions): Promise<TestEngine>;
  /** Files that hold rows, by their paths below the data path. */
  files(): Promise<readonly string[]>;
}

export function fileLake(): Promise<TestLake> {
  return lakeAt((folder) => join(folder, "catalog.ducklake"));
}

export function sqliteLake(): Promise<TestLake> {
  return lakeAt((folder) => `sqlite:${join(folder, "catalog.sqlite")}`);
}

/** The catalog is in a new database of the server, the rows are in a folder. */
export async function postgresLake(postgres: TestPostgres): Promise<TestLake> {
  const database = await postgres.createDatabase();
  return await lakeAt(() => `postgres:${database}`);
}

/** What an engine must be set to before it can attach a lake. */
export function lakeSettings(): string {
  const directory = extensionDirectory("ducklake", ...["postgres_scanner", "sqlite_scanner"].filter(isThere));
  return `SET GLOBAL extension_directory = '${directory}';`;
}

function isThere(name: string): boolean {
  return missingExtensions(name) === undefined;
}

async function lakeAt(metadataPath: (folder: string) => string): Promise<TestLake> {
  const folder = await mkdtemp(join(tmpdir(), "eider-lake-"));
  const dataPath = join(folder, "rows");
  const lake: Lake = { catalog: "cache", metadataPath: metadataPath(folder), dataPath };
  return {
    lake,
    folder,
    async open(setup = "", options = {}) {
      const t = await testEngine(`${lakeSettings()}${setup}`, options);
      try {
        await attachLake(t.engine, lake, afterMs);
        return t;
      } catch (error) {
        await t[Symbol.asyncDispose]();
        throw error;
      }
    },
    async files() {
      const found = await readdir(dataPath, { recursive: true }).catch(() => []);
      return found.filter((name) => name.endsWith(".parquet")).sort();
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
