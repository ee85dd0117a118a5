import { test } from "vitest";

/** `test`, under a name that may say why it is left out; a time limit is for tests whose length is chosen by who runs them. */
export type TestNeeding = (name: string, run: () => Promise<void>, timeoutMs?: number) => void;

/**
 * `test` where nothing is missing; a reason says what is. With one the test is left out, and its name says why; under
 * EIDER_TEST_REQUIRE=all it runs and fails.
 */
export function testNeeding(...reasons: readonly (string | undefined)[]): TestNeeding {
  const missing = reasons.filter((reason) => reason !== undefined).join(", ");
  if (missing === "" || process.env["EIDER_TEST_REQUIRE"] === "all") {
    return (name, run, timeoutMs) => test(name, run, timeoutMs);
  }
  // Something is missing here; CI has it.
  return (name, run) => test.skip(`${name} (left out: ${missing})`, run);
}
