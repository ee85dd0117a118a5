import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { tablesOf } from "./markdown.ts";

/** A cell in backticks. */
export function code(text: string): string {
  return `\`${text.replaceAll("|", "\\|")}\``;
}

export interface TableOnPage {
  /** A page in docs/. */
  readonly page: string;
  /** The heading above the table, of the second level. */
  readonly heading: string;
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Expects the first table below a heading to be this one. With `EIDER_TEST_WRITE=1`, writes it first. */
export function expectTable({ page, heading, header, rows }: TableOnPage): void {
  const file = join(import.meta.dirname, "../docs", page);
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |\n`;
  const expected = [line(header), `${"|---".repeat(header.length)}|\n`, ...rows.map(line)].join("");
  if (process.env["EIDER_TEST_WRITE"] === "1") {
    const title = `## ${heading}\n`;
    const [before = "", after = ""] = readFileSync(file, "utf8").split(title);
    writeFileSync(file, `${before}${title}${after.replace(/(?:^\|.*\|\n)+/m, () => expected)}`);
  }
  const found = tablesOf(readFileSync(file, "utf8")).find(({ section }) => section === heading);
  expect(found).toEqual(tablesOf(`# ${heading}\n${expected}`)[0]);
}
