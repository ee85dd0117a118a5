import { type LoadedParts, type LoadOptions, loadProject } from "../config/load-project.ts";
import { hasMainFile, mainFileFrom } from "../config/main-file.ts";
import { hasErrors, oneLine, type Problem } from "../config/problem.ts";
import type { LoadedProject, MainConfig } from "../config/project.ts";
import { openLogger } from "../log/logger.ts";
import { escapeUnprintable } from "../printable.ts";
import type { FinishedRequest } from "../rest/observe-request.ts";
import { applyStrict } from "../service/service.ts";
import type { Address } from "../serving/open-surfaces.ts";
import { type ServeOptions, serveProject } from "../serving/serve-project.ts";
import { openForCheck } from "./check.ts";
import { type ExitCode, exitCodes, type Runtime } from "./command.ts";
import { loadOptionsOf, type ProjectOptions } from "./options.ts";
import { printProblems, printProblemsInSource } from "./print-problems.ts";
import { requestLine } from "./request-line.ts";

export interface ServerOptions extends Pick<ServeOptions, "strict" | "watch" | "isDev"> {
  /** The files of a project that exists only in memory. */
  readonly overlay?: LoadOptions["overlay"];
}

/** Loads a project and serves it, for `serve` and `dev`. */
export async function runServer(
  projectOptions: ProjectOptions,
  { strict, watch, isDev, overlay }: ServerOptions,
  runtime: Runtime,
): Promise<ExitCode> {
  const { cwd, env, stdout, stderr, now } = runtime;
  if ((projectOptions.config ?? mainFileFrom(env)) === undefined && !(await hasMainFile(cwd))) {
    stderr.write(NO_PROJECT);
    return exitCodes.problem;
  }
  let previous: LoadedParts | undefined;
  const load = async (): Promise<LoadedProject> => {
    const loaded = await loadProject({ ...loadOptionsOf(projectOptions, runtime), overlay, previous });
    previous = loaded.parts;
    return { ...loaded, problems: applyStrict(loaded.problems, strict) };
  };
  const show = (problems: readonly Problem[]): void => {
    if (isDev) printProblemsInSource(problems, stderr, cwd);
    else printProblems(problems, stderr);
  };
  const { project, validPart, problems, files } = await load();
  if (project === undefined) {
    // The SQL of the valid endpoints is checked too, so that every problem is printed at once.
    const rest = validPart && (await openForCheck(validPart, true, runtime));
    show([...problems, ...applyStrict(rest?.problems ?? [], strict)]);
    return exitCodes.problem;
  }
  show(problems);
  if (hasErrors(problems)) return exitCodes.problem;
  const { report: log } = openLogger({
    level: project.main.log.level,
    format: project.main.log.format ?? (stderr.isTerminal || isDev ? "pretty" : "json"),
    write: (line) => stderr.write(line),
    now,
  });
  const onReady = (addresses: readonly Address[]): void =>
    announce(addresses, { dev: isDev ? project.main : undefined, watch }, runtime);
  const audit = (line: string): void => stdout.write(line);
  const onRequestEnd = isDev ? (request: FinishedRequest) => printRequest(request, runtime) : undefined;
  const options = { load, strict, watch, isDev, show, log, audit, onReady, onRequestEnd };
  const end = await serveProject({ project, files }, options, runtime);
  switch (end.kind) {
    case "stopped":
      return exitCodes.done;
    case "problems":
      return exitCodes.problem;
    case "unavailable":
      stderr.write(`${escapeUnprintable(oneLine(end.message))}\n`);
      return exitCodes.unavailable;
  }
}

const NO_PROJECT = `eider: there is no project in this folder: no eider.yaml, eider.yml or flapi.yaml. Try one of these:
  eider init              create a project here, with sample data
  eider dev FILE...       serve data files without a project
  eider serve -c FILE     serve the project with this configuration file
`;

interface Announced {
  readonly dev: MainConfig | undefined;
  readonly watch: boolean;
}

function announce(addresses: readonly Address[], { dev, watch }: Announced, { stdout }: Runtime): void {
  for (const { name, url } of addresses) stdout.write(`${name} listening on ${url}\n`);
  const [rest] = addresses;
  if (dev === undefined || rest === undefined) return;
  if (dev.docs !== undefined) stdout.write(`Documentation at ${rest.url}/docs\n`);
  if (watch) stdout.write(`Watching ${dev.templatePath}\n`);
}

function printRequest(request: FinishedRequest, { stdout }: Runtime): void {
  const line = requestLine(request, stdout);
  if (line !== undefined) stdout.write(`${line}\n`);
}
