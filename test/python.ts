import { execFileSync, spawnSync } from "node:child_process";
import { test } from "vitest";

/** Python with somebody else's readers. CI makes one with all modules and names it in EIDER_TEST_PYTHON. */
const interpreter = process.env["EIDER_TEST_PYTHON"] ?? "python3";

function has(module: string): boolean {
  return spawnSync(interpreter, ["-c", `import ${module}`]).status === 0;
}

/** Why tests that need a module cannot run; undefined when they can. */
export function missingPython(module: string): string | undefined {
  return has(module) ? undefined : `python3 has no ${module}`;
}

/**
 * `test` where Python has a module. Elsewhere the test is left out, and its name says why; under EIDER_TEST_REQUIRE=all
 * it runs and fails.
 */
export function testWithPython(module: string): (name: string, run: () => void | Promise<void>) => void {
  if (process.env["EIDER_TEST_REQUIRE"] === "all" || has(module)) return (name, run) => test(name, run);
  // The module is missing here; CI has it.
  return (name, run) => test.skip(`${name} (left out: python3 has no ${module})`, run);
}

/** Runs a Python program with text on its standard input and gives back what it printed. */
export function python(program: string, input: string | Uint8Array = "", args: readonly string[] = []): string {
  return execFileSync(interpreter, ["-c", program, ...args], { input, maxBuffer: 1 << 30, encoding: "utf8" });
}
