import { escapeUnprintableInLines } from "../printable.ts";
import { ScaffoldError } from "../scaffold/data-file.ts";
import { type ExitCode, exitCodes, type Runtime } from "./command.ts";

/** Prints why files were not read or written. Throws other errors. */
export function printScaffoldError(error: unknown, { stderr }: Pick<Runtime, "stderr">): ExitCode {
  if (!(error instanceof ScaffoldError)) throw error;
  stderr.write(`eider: ${escapeUnprintableInLines(error.message)}\n`);
  return exitCodes.problem;
}
