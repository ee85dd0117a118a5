import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";
import { test } from "vitest";

/** Debian's Chromium. Nothing is downloaded for a test. */
const PROGRAM = "/usr/bin/chromium";

/**
 * `test` where Chromium is installed. Elsewhere the test is left out, and its name says why; under EIDER_TEST_REQUIRE=all
 * it runs and fails.
 */
export function testInBrowser(name: string, run: () => Promise<void>): void {
  if (existsSync(PROGRAM) || process.env["EIDER_TEST_REQUIRE"] === "all") test(name, run);
  // The browser is missing here; CI has it.
  else test.skip(`${name} (left out: there is no ${PROGRAM})`, run);
}

/** A browser without a window. Root may not use its sandbox, and in CI everything is root. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: PROGRAM, args: ["--no-sandbox", "--disable-gpu"] });
}
