import { escapeUnprintableInLines } from "../printable.ts";
import type { FileResult, TestResult } from "../testing/run-tests.ts";

/** The results as JUnit XML, which CI systems read. */
export function junitXml(files: readonly FileResult[]): string {
  const all = files.flatMap(({ results }) => results);
  const suites = files.flatMap(({ file, results }) => [
    `  <testsuite${attributes({ name: file.file, ...summaryOf(results) })}>`,
    ...results.flatMap((result) => caseLines(result)),
    "  </testsuite>",
  ]);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites${attributes({ name: "eider", ...summaryOf(all) })}>`,
    ...suites,
    "</testsuites>",
    "",
  ].join("\n");
}

function summaryOf(results: readonly TestResult[]): Readonly<Record<string, string>> {
  const failed = results.filter(({ failures }) => failures.length > 0).length;
  const ms = results.reduce((sum, { durationMs }) => sum + durationMs, 0);
  return { tests: String(results.length), failures: String(failed), errors: "0", time: seconds(ms) };
}

function caseLines({ file, name, location, durationMs, failures }: TestResult): readonly string[] {
  const own = { classname: file, name, file: location.file, line: String(location.line), time: seconds(durationMs) };
  const open = `    <testcase${attributes(own)}`;
  const [first] = failures;
  if (first === undefined) return [`${open}/>`];
  const lines = failures.map(
    ({ location: at, key, message }) => `${at.file}:${at.line}:${at.column}: ${key}: ${message}`,
  );
  return [
    `${open}>`,
    `      <failure${attributes({ message: `${first.key}: ${first.message}` })}>${escapeXml(lines.join("\n"))}</failure>`,
    "    </testcase>",
  ];
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

function attributes(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => ` ${name}="${escapeXml(value)}"`)
    .join("");
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** XML cannot contain most control characters. */
function escapeXml(text: string): string {
  return escapeUnprintableInLines(text).replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? "");
}
