import { defineConfig } from "vitest/config";

// As bin/eider.cjs does: several services run in one process of the tests, and their queries may wait for each other.
process.env["UV_THREADPOOL_SIZE"] ??= "32";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts", "web/**/*.test.ts"],
    // No test depends on how long something takes: these only end what hangs.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 120_000 } },
    pool: "forks",
    // Modules are loaded once for each worker instead of once for each file.
    isolate: false,
    // Much of a test is waiting for another process: one more than the two cores of CI.
    maxWorkers: 3,
  },
});
