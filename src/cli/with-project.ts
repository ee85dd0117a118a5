import { loadProject } from "../config/load-project.ts";
import { hasErrors, oneLine } from "../config/problem.ts";
import { printable } from "../printable.ts";
import { openService, type Service } from "../service/service.ts";
import { type ExitCode, exitCodes, type Runtime } from "./command.ts";
import type { ProjectOptions } from "./options.ts";
import { printProblems } from "./print-problems.ts";

/** Opens a project as `check` does, for whoever wants to describe it, and closes it. What is wrong is printed. */
export async function withProject(
  { config: file, ...overrides }: ProjectOptions,
  runtime: Runtime,
  describe: (service: Service) => Promise<void>,
): Promise<ExitCode> {
  const { cwd, env, temporary, self, stderr } = runtime;
  const loaded = await loadProject({ file, cwd, env, overrides });
  printProblems(loaded.problems, stderr);
  if (loaded.project === undefined) return exitCodes.problem;
  const trial = { report: () => {}, connect: true, temporary, self, env, isTrial: true };
  const { service, problems, unreachable } = await openService(loaded.project, trial);
  printProblems(problems, stderr);
  if (service === undefined) {
    if (unreachable !== undefined) stderr.write(`${printable(oneLine(unreachable))}\n`);
    return hasErrors(problems) ? exitCodes.problem : exitCodes.unavailable;
  }
  try {
    await describe(service);
    return exitCodes.done;
  } finally {
    await service.close();
  }
}
