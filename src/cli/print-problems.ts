import { formatProblem, inOrder, oneLine, type Problem } from "../config/problem.ts";
import type { Output } from "./command.ts";

const RED = "\u001b[31m";
const YELLOW = "\u001b[33m";
const RESET = "\u001b[0m";

/** Every problem on its own line: in order of file and line, in colour on a terminal. */
export function printProblems(problems: readonly Problem[], output: Output): void {
  for (const problem of inOrder(problems)) {
    const line = oneLine(formatProblem(problem));
    const colour = problem.severity === "error" ? RED : YELLOW;
    output.write(output.isTerminal ? `${colour}${line}${RESET}\n` : `${line}\n`);
  }
}

export function hasErrors(problems: readonly Problem[]): boolean {
  return problems.some(({ severity }) => severity === "error");
}

/** With --strict what is unsafe is wrong. */
export function strictly(problems: readonly Problem[], strict: boolean): readonly Problem[] {
  return strict
    ? problems.map((problem) => (problem.security === true ? { ...problem, severity: "error" } : problem))
    : problems;
}
