import { join } from "node:path";
import { parseEnv } from "node:util";
import type { Files } from "./files.ts";
import { errorAt, type Report, warningAt } from "./tree.ts";

export type Variables = Readonly<Record<string, string | undefined>>;

/** A variable, a comment or an empty line. */
const LINE = /^\s*(?:(?:export\s+)?[A-Za-z_][\w.-]*\s*=|#|$)/;
/** A value in quotes may have several lines. */
const QUOTED = /=[ \t]*(?:"[^"]*"|'[^']*'|`[^`]*`)/g;

/** Reads the variables from the file `.env` in a folder. Empty if there is no such file. */
export function readEnvFile(folder: string, files: Files, report: Report): Variables {
  const path = join(folder, ".env");
  const read = files.read(path);
  const file = files.display(path);
  if (!read.ok) {
    // A folder of this name is something else, often a Python environment.
    if (read.why.kind === "unreadable" && read.why.reason !== "it is a folder") {
      const message = `cannot be read: ${read.why.reason}; use --no-env-file to start without it`;
      report(errorAt({ file, line: 1, column: 1 }, [], message));
    }
    return {};
  }
  const lines = read.text.replace(QUOTED, (value) => `=${value.slice(1).replace(/[^\n]/g, " ")}`).split("\n");
  for (const [index, line] of lines.entries()) {
    // The message does not quote the line, which may contain a secret.
    if (!LINE.test(line.trimEnd())) {
      report(warningAt({ file, line: index + 1, column: 1 }, [], "this line is ignored; expected NAME=value"));
    }
  }
  return parseEnv(read.text);
}
