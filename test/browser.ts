import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";
import { test } from "vitest";

/** Chromium as packaged by Debian. Tests download no browser. */
const PROGRAM = "/usr/bin/chromium";

/**
 * `test` if Chromium is installed. Otherwise, the test is skipped, and its name contains the reason. With
 * EIDER_TEST_REQUIRE=all, it runs and fails.
 */
export function testInBrowser(name: string, run: () => Promise<void>): void {
  if (existsSync(PROGRAM) || process.env["EIDER_TEST_REQUIRE"] === "all") test(name, run);
  // CI has the browser.
  else test.skip(`${name} (left out: there is no ${PROGRAM})`, run);
}

/** A headless browser, without its sandbox, which root cannot use. CI runs as root. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: PROGRAM, args: ["--no-sandbox", "--disable-gpu"] });
}
