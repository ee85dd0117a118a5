import type { Output } from "./command.ts";

/** Prints rows below a header. A terminal gets aligned columns. Any other output gets tabs. */
export function printTable(header: readonly string[], lines: readonly (readonly string[])[], output: Output): void {
  const widths = header.map((title, column) =>
    Math.max(title.length, ...lines.map((line) => line[column]?.length ?? 0)),
  );
  for (const line of [header, ...lines]) {
    const aligned = line.map((text, column) => text.padEnd(widths[column] ?? 0)).join("  ");
    output.write(`${output.isTerminal ? aligned.trimEnd() : line.join("\t")}\n`);
  }
}
