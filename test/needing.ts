import { test } from "vitest";

/** Like `test`. `timeoutMs` is for tests whose duration is configurable. */
export type TestNeeding = (name: string, run: () => Promise<void>, timeoutMs?: number) => void;

/**
 * `test` if nothing is missing. Each reason states what is missing: then the test is skipped, and its name contains the reasons.
 * With EIDER_TEST_REQUIRE=all, it runs and fails.
 */
export function testNeeding(...reasons: readonly (string | undefined)[]): TestNeeding {
  const missing = reasons.filter((reason) => reason !== undefined).join(", ");
  if (missing === "" || process.env["EIDER_TEST_REQUIRE"] === "all") {
    return (name, run, timeoutMs) => test(name, run, timeoutMs);
  }
  // CI has everything.
  return (name, run) => test.skip(`${name} (left out: ${missing})`, run);
}
