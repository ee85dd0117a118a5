import { execFileSync, spawnSync } from "node:child_process";
import { test } from "vitest";

/** The Python interpreter. CI installs one with all modules and sets EIDER_TEST_PYTHON to it. */
const interpreter = process.env["EIDER_TEST_PYTHON"] ?? "python3";

function has(module: string): boolean {
  return spawnSync(interpreter, ["-c", `import ${module}`]).status === 0;
}

/** The reason why tests that need a module cannot run. Undefined if they can. */
export function missingPython(module: string): string | undefined {
  return has(module) ? undefined : `python3 has no ${module}`;
}

/**
 * `test` if Python has a module. Otherwise, the test is skipped, and its name contains the reason. With EIDER_TEST_REQUIRE=all,
 * it runs and fails.
 */
export function testWithPython(module: string): (name: string, run: () => void | Promise<void>) => void {
  if (process.env["EIDER_TEST_REQUIRE"] === "all" || has(module)) return (name, run) => test(name, run);
  // CI has the module.
  return (name, run) => test.skip(`${name} (left out: python3 has no ${module})`, run);
}

/** Runs a Python program with `input` on its standard input, and returns its output. */
export function python(program: string, input: string | Uint8Array = "", args: readonly string[] = []): string {
  return execFileSync(interpreter, ["-c", program, ...args], { input, maxBuffer: 1 << 30, encoding: "utf8" });
}
