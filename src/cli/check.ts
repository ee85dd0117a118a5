import { loadProject } from "../config/load-project.ts";
import { hasErrors, oneLine, type Problem, sortProblems } from "../config/problem.ts";
import type { Project } from "../config/project.ts";
import { adviceOn } from "../endpoint/advice.ts";
import { explained } from "../error-message.ts";
import { escapeUnprintable, escapeUnprintableInLines } from "../printable.ts";
import { applyStrict, type OpenedService, openService } from "../service/service.ts";
import { type Command, type ExitCode, exitCodes, type Runtime } from "./command.ts";
import { lockedFileNote } from "./locked-file-note.ts";
import { loadOptionsOf, type ProjectOptions, projectOptionsHelp, readOptions } from "./options.ts";
import { printProblems } from "./print-problems.ts";

export const check: Command = {
  name: "check",
  summary: "validate the project and print every problem",
  help: `Usage: eider check [options]

Loads the project, opens the database, runs the init of every connection, prepares every template and prints every
problem. Runs no template and opens no port.

Options:
${projectOptionsHelp}
      --json            print problems as one JSON document
      --strict          treat security warnings as errors
      --offline         do not open connections or read remote files; only parse templates

Example:
  eider check --config project/eider.yaml`,
  async run(args, runtime) {
    const options = readOptions(args, ["json", "offline", "strict"]);
    const opened = await findProblems(options, options.flags.has("offline"), runtime);
    const found = { ...opened, problems: applyStrict(opened.problems, options.flags.has("strict")) };
    if (options.flags.has("json")) {
      runtime.stdout.write(`${escapeUnprintableInLines(JSON.stringify(reportOf(found), null, 2))}\n`);
    } else {
      printProblems(found.problems, runtime.stderr);
      if (found.unreachable !== undefined) runtime.stderr.write(`${escapeUnprintable(oneLine(found.unreachable))}\n`);
      if (exitCodeOf(found) === exitCodes.done) {
        const warnings =
          found.problems.length === 0 ? "no problems" : `no errors, ${pluralize(found.problems.length, "warning")}`;
        runtime.stdout.write(`${pluralize(found.endpoints, "endpoint")}, ${warnings}\n`);
      }
    }
    return exitCodeOf(found);
  },
};

function pluralize(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

interface CheckResult {
  readonly problems: readonly Problem[];
  readonly endpoints: number;
  readonly unreachable: string | undefined;
}

async function findProblems(options: ProjectOptions, offline: boolean, runtime: Runtime): Promise<CheckResult> {
  const { project, validPart, problems } = await loadProject({
    ...loadOptionsOf(options, runtime),
    isOffline: offline,
  });
  const opened = validPart && (await openForCheck(validPart, !offline, runtime));
  return {
    problems: [...problems, ...(opened?.problems ?? [])],
    endpoints: project?.endpoints.length ?? 0,
    unreachable: opened?.unreachable,
  };
}

/** Opens a project to find its problems, then closes it. Logs nothing. */
export async function openForCheck(
  project: Project,
  connect: boolean,
  runtime: Pick<Runtime, "temporary" | "self" | "env" | "cwd" | "stderr">,
): Promise<OpenedService> {
  const { temporary, self, cwd, env } = runtime;
  const onLockedFile = lockedFileNote(runtime);
  const options = { report: () => {}, connect, temporary, self, cwd, env, purpose: "check", onLockedFile } as const;
  const opened = await openService(project, options);
  const { service } = opened;
  if (service === undefined) return opened;
  try {
    const { engine, engineOf } = service;
    const embedded = service.endpoints.filter(({ connections }) => engineOf(connections) === engine);
    const advice = await Promise.all(embedded.map((endpoint) => adviceOn(endpoint, engine)));
    return { ...opened, problems: [...opened.problems, ...advice.flat()] };
  } finally {
    await service.close();
  }
}

function exitCodeOf({ problems, unreachable }: CheckResult): ExitCode {
  if (hasErrors(problems)) return exitCodes.problem;
  return unreachable === undefined ? exitCodes.done : exitCodes.unavailable;
}

function reportOf({ problems, endpoints, unreachable }: CheckResult): unknown {
  return {
    problems: sortProblems(problems).map(({ severity, location, path, message, explanation }) => ({
      severity,
      ...location,
      path,
      message: explained(explanation, message),
    })),
    endpoints,
    ...(unreachable === undefined ? {} : { unreachable }),
  };
}
