import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Problem } from "../config/problem.ts";
import { excerptOf, printProblemsInSource } from "./print-problems.ts";

const problem: Problem = {
  severity: "error",
  location: { file: "x.yaml", line: 2, column: 3 },
  path: "a",
  message: "wrong",
};

function printed(isTerminal: boolean): string {
  const folder = mkdtempSync(join(tmpdir(), "eider-problems-"));
  try {
    writeFileSync(join(folder, "x.yaml"), "one: 1\n  two: 2\n");
    const pieces: string[] = [];
    const output = { isTerminal, write: (piece: string) => void pieces.push(piece) };
    printProblemsInSource(
      [problem, { ...problem, severity: "warning", location: { file: "gone.yaml", line: 1, column: 1 } }],
      output,
      folder,
    );
    return pieces.join("");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("on a terminal a problem comes with its line and a mark", () => {
  expect(printed(true)).toBe(
    "\u001b[33mgone.yaml:1:1: warning: a: wrong\u001b[0m\n" +
      "\u001b[31mx.yaml:2:3: a: wrong\u001b[0m\n" +
      "\u001b[2m  2 |   two: 2\u001b[0m\n" +
      "\u001b[31m        ^\u001b[0m\n",
  );
});

test("nothing that a file holds acts on the terminal", () => {
  const pieces: string[] = [];
  const output = { isTerminal: false, write: (piece: string) => void pieces.push(piece) };
  const location = { file: "a\u001b[2J.yaml", line: 1, column: 1 };
  printProblemsInSource([{ ...problem, location, message: "unknown '\u202e\r\u009b'" }], output, "/");
  expect(pieces.join("")).toBe("a\\u001b[2J.yaml:1:1: a: unknown '\\u202e\\u000d\\u009b'\n");
});

test("in a pipe it is a line", () => {
  expect(printed(false)).toBe("gone.yaml:1:1: warning: a: wrong\nx.yaml:2:3: a: wrong\n");
});

test.each([
  ["a\r\nb: c\r\n", { line: 2, column: 4 }, "  2 | b: c", "         ^"],
  ["a\u001b[2Jb: c", { line: 1, column: 6 }, "  1 | a\\u001b[2Jb: c", "                ^"],
  ["\tkey: 1", { line: 1, column: 2 }, "  1 | \tkey: 1", "      \t^"],
])("%j", (text, place, line, mark) => {
  expect(excerptOf(text, { file: "x", ...place })).toEqual({ line, mark });
});

test.each([
  ["", { line: 1, column: 1 }],
  ["a", { line: 7, column: 1 }],
  [`${" ".repeat(300)}x`, { line: 1, column: 301 }],
])("%j has nothing to show at %j", (text, place) => {
  expect(excerptOf(text, { file: "x", ...place })).toBeUndefined();
});
