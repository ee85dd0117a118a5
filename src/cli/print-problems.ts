import { resolve } from "node:path";
import { openFiles } from "../config/files.ts";
import { formatProblem, type Location, oneLine, type Problem, sortProblems } from "../config/problem.ts";
import { escapeUnprintable, escapeUnprintableInLines } from "../printable.ts";
import type { Output } from "./command.ts";

const RED = "\u001b[31m";
const YELLOW = "\u001b[33m";
const DIM = "\u001b[2m";
const RESET = "\u001b[0m";

/** Prints each problem on a line, ordered by file and line, in colour on a terminal. */
export function printProblems(problems: readonly Problem[], output: Output): void {
  for (const problem of sortProblems(problems)) output.write(`${lineOf(problem, output)}\n`);
}

/** Like `printProblems`, but on a terminal, it also prints the source line, with a mark below the column. */
export function printProblemsInSource(problems: readonly Problem[], output: Output, cwd: string): void {
  if (!output.isTerminal) {
    printProblems(problems, output);
    return;
  }
  const files = openFiles(cwd);
  for (const problem of sortProblems(problems)) {
    output.write(`${lineOf(problem, output)}\n`);
    const text = files.read(resolve(cwd, problem.location.file));
    const excerpt = text.ok ? excerptOf(text.text, problem.location) : undefined;
    if (excerpt !== undefined)
      output.write(`${DIM}${excerpt.line}${RESET}\n${colourOf(problem)}${excerpt.mark}${RESET}\n`);
  }
}

function lineOf(problem: Problem, { isTerminal }: Output): string {
  const line = escapeUnprintable(oneLine(formatProblem(problem)));
  return isTerminal ? `${colourOf(problem)}${line}${RESET}` : line;
}

function colourOf({ severity }: Problem): string {
  return severity === "error" ? RED : YELLOW;
}

const LONGEST_EXCERPT = 160;

/** A source line and a mark below a column. */
export function excerptOf(
  text: string,
  { line, column }: Location,
): { readonly line: string; readonly mark: string } | undefined {
  const source = text.split(/\r?\n/)[line - 1];
  if (source === undefined || source.trim() === "" || column > LONGEST_EXCERPT) return undefined;
  const number = `${line} | `;
  // Tabs stay tabs in both lines, so that the mark is below its column.
  const before = escapeUnprintableInLines(source.slice(0, column - 1)).replace(/[^\t]/g, " ");
  const shown = escapeUnprintableInLines(source.slice(0, LONGEST_EXCERPT));
  return { line: `  ${number}${shown}`, mark: `  ${" ".repeat(number.length)}${before}^` };
}
