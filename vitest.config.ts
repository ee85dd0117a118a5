import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/longest-first.ts";

// As bin/eider.cjs does: several services run in one process of the tests, and their queries may wait for each other.
process.env["UV_THREADPOOL_SIZE"] ??= "32";

/** Tests that take seconds each, or need a server. */
const SLOW = "src/**/*.slow.test.ts";
/** They read files of the repository. Neither needs a build. */
const ABOUT_THE_REPOSITORY = ["test/architecture.test.ts", "test/docs.test.ts", "test/problems.test.ts"];
/** Crashes, faults, floods and random input; and what needs servers, a browser or programs that others wrote. */
const LONG = [
  ...["stress", "attacks", "fuzz", "legitimate-inputs", "real", "browser"].map(
    (folder) => `test/${folder}/**/*.test.ts`,
  ),
  "src/cache/{leader,lake-store,lake-upkeep,ducklake,store-settings}.slow.test.ts",
  "src/{rate-limit/redis-counter,auth/secret-users}.slow.test.ts",
  "test/behaviour/{idempotency-stores,constraint-stores,database-servers,server-catalogs,server-rows-affected,sqlite-files,s3-templates,secret-users,attached-writes,postgres-engine,postgres-formats,postgres-writes,postgres-caches,engines,extension-folders,extensions-command,source-pages,source-pushdown,source-types,test-command-servers}.test.ts",
  "test/process/{cache-kill,ducklake,rate-limit-redis,mysql-query}.test.ts",
];

/** The caches once more, under settings of DuckDB that change what SQL means. */
const SETTINGS = [
  "src/cache/{duckdb-store,lake-store,open-caches.duckdb,store-model,store-open,store-safety}.slow.test.ts",
  "test/behaviour/{cache,cache-restart}.test.ts",
];

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: { name: "quick", include: ["{src,web}/**/*.test.ts", ...ABOUT_THE_REPOSITORY], exclude: [SLOW] },
      },
      {
        extends: true,
        test: { name: "full", include: [SLOW, "test/**/*.test.ts"], exclude: [...ABOUT_THE_REPOSITORY, ...LONG] },
      },
      { extends: true, test: { name: "long", include: LONG } },
      { extends: true, test: { name: "settings", include: SETTINGS, env: { EIDER_TEST_SETTINGS: "all" } } },
    ],
    // No test depends on how long something takes: these only end what hangs.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 120_000 } },
    pool: "forks",
    // Transformed modules are kept between runs.
    experimental: { fsModuleCache: true },
    // Modules are loaded once for each worker instead of once for each file.
    isolate: false,
    // Much of a test is waiting for another process: one more than the two cores of CI.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
  },
});
