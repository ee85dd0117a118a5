import { loadProject } from "../config/load-project.ts";
import { hasErrors, oneLine } from "../config/problem.ts";
import type { Project } from "../config/project.ts";
import type { Report } from "../events.ts";
import { escapeUnprintable } from "../printable.ts";
import { type OpenOptions, openService, type Service } from "../service/service.ts";
import { type ExitCode, exitCodes, type Runtime } from "./command.ts";
import { lockedFileNote } from "./locked-file-note.ts";
import { loadOptionsOf, type ProjectOptions } from "./options.ts";
import { printProblems } from "./print-problems.ts";

export interface ProjectWork {
  readonly purpose: OpenOptions["purpose"];
  /** Whether database files that another process has open are read as copies. */
  readonly copiesLocked: boolean;
  /** Returns the function that logs events. Without it, nothing is logged. */
  readonly reportOf?: (project: Project) => Report;
  /** Uses the open project. Undefined means success. */
  run(service: Service, report: Report): Promise<ExitCode | undefined>;
}

/** Loads and opens a project, runs the work and closes the project. Prints every problem. */
export async function withProject(
  options: ProjectOptions,
  runtime: Runtime,
  { purpose, copiesLocked, reportOf, run }: ProjectWork,
): Promise<ExitCode> {
  const { env, temporary, self, cwd, stderr } = runtime;
  const { project, problems: loadProblems } = await loadProject(loadOptionsOf(options, runtime));
  printProblems(loadProblems, stderr);
  if (project === undefined) return exitCodes.problem;
  const report = reportOf?.(project) ?? (() => {});
  const onLockedFile = copiesLocked ? lockedFileNote(runtime) : undefined;
  const opened = await openService(project, {
    report,
    connect: true,
    temporary,
    self,
    cwd,
    env,
    purpose,
    onLockedFile,
  });
  const { service, problems, unreachable = "the project could not be opened" } = opened;
  printProblems(problems, stderr);
  if (hasErrors(problems)) return exitCodes.problem;
  if (service === undefined) {
    stderr.write(`${escapeUnprintable(oneLine(unreachable))}\n`);
    return exitCodes.unavailable;
  }
  try {
    return (await run(service, report)) ?? exitCodes.done;
  } finally {
    await service.close();
  }
}
