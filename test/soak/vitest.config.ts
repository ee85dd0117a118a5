import { defineConfig } from "vitest/config";

/** `npm run test:soak`: a run that takes its time, and is not one of the tests. */
export default defineConfig({
  test: {
    include: ["test/soak/soak.ts"],
    pool: "forks",
    // Its table is to be seen while it grows.
    disableConsoleIntercept: true,
  },
});
