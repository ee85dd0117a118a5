import type { Project } from "../config/project.ts";
import type { Report } from "../events.ts";
import { openLogger } from "../log/logger.ts";
import type { Runtime } from "./command.ts";

/** The log of a command whose result goes to standard output: it goes to standard error. */
export function openLog({ main: { log } }: Project, { stderr, now }: Pick<Runtime, "stderr" | "now">): Report {
  const format = log.format ?? (stderr.isTerminal ? "pretty" : "json");
  return openLogger({ level: log.level, format, write: (line) => stderr.write(line), now }).report;
}
