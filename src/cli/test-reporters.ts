import { formatProblem, type Problem, sortProblems } from "../config/problem.ts";
import { escapeUnprintable, escapeUnprintableInLines } from "../printable.ts";
import { type CoverageItem, coverageKinds } from "../testing/coverage.ts";
import type { Hint } from "../testing/lint-tools.ts";
import type { FileResult, TestFailure, TestResult } from "../testing/run-tests.ts";
import type { Output, Runtime } from "./command.ts";
import { junitXml } from "./junit.ts";
import { printProblems } from "./print-problems.ts";
import { printTable } from "./print-table.ts";

/** The result of a whole run. */
export interface TestReport {
  readonly files: readonly FileResult[];
  readonly items: readonly CoverageItem[];
  readonly hints: readonly Hint[];
  /** The coverage that is required, in percent. */
  readonly minimum: number | undefined;
}

/** Prints the results of tests. */
export interface TestReporter {
  problems(problems: readonly Problem[]): void;
  file(result: FileResult): void;
  /** Returns whether everything is as it should be. */
  end(report: TestReport): boolean;
}

type Streams = Pick<Runtime, "stdout" | "stderr">;

export const reporters = { plain: plainReporter, junit: junitReporter, json: jsonReporter } as const;

const GREEN = "\u001b[32m";
const RED = "\u001b[31m";
const DIM = "\u001b[2m";
const RESET = "\u001b[0m";

function coloured(text: string, colour: string, { isTerminal }: Output): string {
  return isTerminal ? `${colour}${text}${RESET}` : text;
}

/** Lines for people. */
function plainReporter({ stdout, stderr }: Streams): TestReporter {
  return {
    problems: (problems) => printProblems(problems, stderr),
    file(result) {
      printFile(result, stdout);
    },
    end(report) {
      printEnd(report, stdout);
      return isGood(report);
    },
  };
}

/** JUnit XML on standard output, everything else on standard error. */
function junitReporter({ stdout, stderr }: Streams): TestReporter {
  return {
    problems: (problems) => printProblems(problems, stderr),
    file() {},
    end(report) {
      stdout.write(junitXml(report.files));
      printEnd(report, stderr);
      return isGood(report);
    },
  };
}

/** One JSON document on standard output. */
function jsonReporter({ stdout, stderr }: Streams): TestReporter {
  return {
    problems: (problems) => printProblems(problems, stderr),
    file() {},
    end(report) {
      stdout.write(`${escapeUnprintableInLines(JSON.stringify(documentOf(report), null, 2))}\n`);
      return isGood(report);
    },
  };
}

function isGood({ files, items, minimum }: TestReport): boolean {
  const hasFailed = files.some(({ results }) => results.some(({ failures }) => failures.length > 0));
  return !hasFailed && (minimum === undefined || percent(items) >= minimum);
}

function printFile({ file, results, snapshotsWritten }: FileResult, output: Output): void {
  const failed = results.filter(({ failures }) => failures.length > 0);
  const mark = failed.length === 0 ? coloured("ok", GREEN, output) : coloured("FAILED", RED, output);
  const stored = snapshotsWritten === 0 ? "" : `, ${snapshotsWritten} stored`;
  output.write(
    `${mark} ${escapeUnprintable(file.file)} (${results.length - failed.length} of ${results.length} passed${stored})\n`,
  );
  for (const result of failed) printFailed(result, output);
}

/** More differences are hard to read. */
const MOST_SHOWN = 10;

function printFailed({ name, failures }: TestResult, output: Output): void {
  output.write(`  ${coloured(escapeUnprintable(name), RED, output)}\n`);
  for (const failure of failures.slice(0, MOST_SHOWN)) printFailure(failure, output);
  if (failures.length > MOST_SHOWN) output.write(`    and ${failures.length - MOST_SHOWN} more\n`);
}

function printFailure({ location, key, message, difference }: TestFailure, output: Output): void {
  const at = `${location.file}:${location.line}:${location.column}: ${key}`;
  if (difference === undefined) {
    output.write(`    ${escapeUnprintable(`${at}: ${message}`)}\n`);
    return;
  }
  output.write(`    ${escapeUnprintable(at)}\n`);
  output.write(`      ${coloured(`- ${escapeUnprintable(difference.expected)}`, GREEN, output)}\n`);
  output.write(`      ${coloured(`+ ${escapeUnprintable(difference.received)}`, RED, output)}\n`);
}

function printEnd({ files, items, hints, minimum }: TestReport, output: Output): void {
  const results = files.flatMap((file) => file.results);
  const failed = results.filter(({ failures }) => failures.length > 0).length;
  for (const problem of sortProblems(hints.map(asProblem))) {
    output.write(`${coloured(escapeUnprintable(formatProblem(problem)), DIM, output)}\n`);
  }
  output.write("\n");
  printTable(
    ["coverage", "covered", "total", "percent"],
    [
      ...coverageKinds.map((kind) =>
        coverageLine(
          kind,
          items.filter((item) => item.kind === kind),
        ),
      ),
      coverageLine("all", items),
    ],
    output,
  );
  const missing = items.filter(({ isCovered }) => !isCovered).map(asMissing);
  for (const problem of sortProblems(missing)) {
    output.write(`${coloured(escapeUnprintable(formatProblem(problem)), DIM, output)}\n`);
  }
  output.write(`\n${results.length - failed} passed, ${failed} failed\n`);
  if (minimum !== undefined && percent(items) < minimum) {
    output.write(`${coloured(`the coverage is ${percent(items)}%, less than ${minimum}%`, RED, output)}\n`);
  }
}

/** Hints and gaps are printed like problems, without a severity. */
function asProblem({ location, message }: Hint): Problem {
  return { severity: "error", location, path: "hint", message };
}

function asMissing({ location, missing }: CoverageItem): Problem {
  return { severity: "error", location, path: "not covered", message: missing };
}

function coverageLine(name: string, items: readonly CoverageItem[]): readonly string[] {
  const covered = items.filter(({ isCovered }) => isCovered).length;
  return [name, String(covered), String(items.length), `${percent(items)}%`];
}

/** Rounded down, so that 100 means all. */
function percent(items: readonly CoverageItem[]): number {
  if (items.length === 0) return 100;
  return Math.floor((items.filter(({ isCovered }) => isCovered).length * 100) / items.length);
}

function documentOf({ files, items, hints, minimum }: TestReport): unknown {
  const results = files.flatMap((file) => file.results);
  const failed = results.filter(({ failures }) => failures.length > 0).length;
  return {
    passed: results.length - failed,
    failed,
    tests: results.map(({ name, location, durationMs, failures }) => ({
      name,
      ...location,
      passed: failures.length === 0,
      durationMs: Math.round(durationMs),
      failures: failures.map(({ location: at, key, message, difference }) => ({
        ...at,
        key,
        message,
        expected: difference?.expected,
        received: difference?.received,
      })),
    })),
    coverage: {
      percent: percent(items),
      minimum,
      ...Object.fromEntries(
        coverageKinds.map((kind) => {
          const some = items.filter((item) => item.kind === kind);
          return [kind, { covered: some.filter(({ isCovered }) => isCovered).length, total: some.length }];
        }),
      ),
      missing: items
        .filter(({ isCovered }) => !isCovered)
        .map(({ kind, location, missing }) => ({ kind, ...location, message: missing })),
    },
    hints: hints.map(({ location, message }) => ({ ...location, message })),
  };
}
