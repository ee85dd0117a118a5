import { auditObserver } from "../calls/audit-observer.ts";
import { loadProject } from "../config/load-project.ts";
import { hasErrors, oneLine, type Problem } from "../config/problem.ts";
import type { LoadedProject, MainConfig, Project } from "../config/project.ts";
import type { Report } from "../events.ts";
import { openLogger } from "../log/logger.ts";
import { printable } from "../printable.ts";
import { type OpenOptions, openService, type Service } from "../service/service.ts";
import { openObservability } from "../serving/observability.ts";
import { openReloads } from "../serving/reload.ts";
import { drainAll, type Surfaces, stopAll } from "../serving/surfaces.ts";
import { watchFiles } from "../serving/watch-files.ts";
import { openForCheck } from "./check.ts";
import { type ExitCode, exitCodes, type Runtime } from "./command.ts";
import { openAuditOf } from "./open-audit.ts";
import { type OpenedSurfaces, openSurfaces } from "./open-surfaces.ts";
import type { ProjectOptions } from "./options.ts";
import { printProblems, printProblemsInSource, strictly } from "./print-problems.ts";

export interface Serving {
  /** Security warnings stop the start. */
  readonly strict: boolean;
  /** Changes of files are taken up. */
  readonly watch: boolean;
  /** For the person who writes the project. */
  readonly isDev: boolean;
}

/** Loads, opens and serves, until it is told to stop. decisions 11. */
export async function serveProject(options: ProjectOptions, serving: Serving, runtime: Runtime): Promise<ExitCode> {
  const { config: file, ...overrides } = options;
  const load = (): Promise<LoadedProject> => loadProject({ file, cwd: runtime.cwd, env: runtime.env, overrides });
  const show = (found: readonly Problem[]): readonly Problem[] => {
    const problems = strictly(found, serving.strict);
    if (serving.isDev) printProblemsInSource(problems, runtime.stderr, runtime.cwd);
    else printProblems(problems, runtime.stderr);
    return problems;
  };
  const loaded = await load();
  if (loaded.project === undefined) {
    // Everything at once: what is wrong with the SQL of the rest is told as well.
    const rest = loaded.sound && (await openForCheck(loaded.sound, true, runtime));
    show([...loaded.problems, ...(rest?.problems ?? [])]);
    return exitCodes.problem;
  }
  if (hasErrors(show(loaded.problems))) return exitCodes.problem;
  const { project } = loaded;
  const { report, listeners } = reportTo(project.main, serving, runtime);
  const { temporary, self, env } = runtime;
  let lost = (): void => {};
  const opening: OpenOptions = { report, connect: true, temporary, self, env, lost: () => lost() };
  const opened = await openService(project, opening);
  if (hasErrors(show(opened.problems))) {
    await opened.service?.close();
    return exitCodes.problem;
  }
  if (opened.service === undefined) {
    runtime.stderr.write(`${printable(oneLine(opened.unreachable ?? "the project could not be opened"))}\n`);
    return exitCodes.unavailable;
  }
  const whenLost = (reopen: () => void): void => {
    lost = reopen;
  };
  return await run({ load, show, loaded, opening, whenLost, service: opened.service, serving, listeners }, runtime);
}

/** The log hears of everything, and so do those who are listed. */
function reportTo({ log }: MainConfig, { isDev }: Serving, { stderr, now }: Runtime) {
  const logger = openLogger({
    level: log.level,
    format: log.format ?? (stderr.isTerminal || isDev ? "pretty" : "json"),
    write: (line) => stderr.write(line),
    now,
  });
  const listeners: Report[] = [logger.report];
  const report: Report = (event) => {
    for (const hear of listeners) hear(event);
  };
  return { report, listeners };
}

interface RunningServer {
  readonly load: () => Promise<LoadedProject>;
  readonly show: (problems: readonly Problem[]) => readonly Problem[];
  readonly loaded: LoadedProject;
  readonly opening: OpenOptions;
  /** Says what is done when the database works no longer. */
  readonly whenLost: (reopen: () => void) => void;
  readonly service: Service;
  readonly serving: Serving;
  /** Who hears of what the service reports. */
  readonly listeners: Report[];
}

async function run(running: RunningServer, runtime: Runtime): Promise<ExitCode> {
  const { load, show, loaded, opening, service, serving, listeners } = running;
  const { report } = opening;
  const { main } = service.project;
  const audit = await openAuditOf(main, report, runtime);
  if (audit === "failed") {
    await service.close();
    return exitCodes.problem;
  }
  const { isDev } = serving;
  const observation = await openObservability(service, { report, now: runtime.now, isDev });
  observation.watchProcess();
  const observers = [...(audit === undefined ? [] : [auditObserver(audit)]), ...observation.observers];
  const opened = await openSurfaces(service, { report, observers, observation, isDev }, runtime);
  if (typeof opened === "number") {
    await observation.close();
    await service.close();
    await audit?.close();
    return opened;
  }
  listeners.push(observation.onEvent, opened.hear);
  const ending = endingOf(opened, runtime);
  const reloads = openReloads({
    service,
    surfaces: opened,
    load,
    opening,
    report,
    show,
    changed: (project, { files }) => watch?.follow(watchedOf(project, files)),
    fatal(message) {
      runtime.stderr.write(`${printable(message)}\n`);
      ending.end(exitCodes.unavailable);
    },
  });
  const watch = serving.watch
    ? await watchFiles(watchedOf(service.project, loaded.files), reloads.request, report)
    : undefined;
  runtime.onReload(reloads.request);
  running.whenLost(reloads.reopen);
  service.caches.start();
  announce(opened, service, { isDev, runtime });
  const code = await ending.ended;
  await watch?.close();
  await reloads.close();
  await drainAll(opened, main.limits.shutdownGraceMs);
  await drainAll({ surfaces: [], listeners: opened.lastToClose }, 0);
  await Promise.race([reloads.current().close(), new Promise((resolve) => setTimeout(resolve, INTERRUPT_MS).unref())]);
  await audit?.close();
  await observation.close();
  holdNoLonger(runtime);
  return code;
}

function watchedOf({ main }: Project, files: readonly string[]) {
  return { folder: main.templatePath, files: [main.file, ...files] };
}

interface Ending {
  readonly ended: Promise<ExitCode>;
  end(code: ExitCode): void;
}

/** The first signal lets calls in flight come to their end; the second does not wait. */
function endingOf(surfaces: Surfaces, runtime: Runtime): Ending {
  let end = (_code: ExitCode): void => {};
  const ended = new Promise<ExitCode>((resolve) => {
    end = resolve;
  });
  let asked = false;
  runtime.onStop(() => {
    if (asked) {
      stopAll(surfaces);
      holdNoLonger(runtime);
    }
    asked = true;
    end(exitCodes.done);
  });
  return { ended, end };
}

function announce(
  { addresses }: OpenedSurfaces,
  { project }: Service,
  { isDev, runtime }: { readonly isDev: boolean; readonly runtime: Runtime },
): void {
  for (const { name, url } of addresses) runtime.stdout.write(`${name} listening on ${url}\n`);
  const [rest] = addresses;
  if (!isDev || rest === undefined) return;
  if (project.main.docs !== undefined) runtime.stdout.write(`Documentation at ${rest.url}/docs\n`);
  runtime.stdout.write(`Watching ${project.main.templatePath}\n`);
}

/** For work on other threads to hear that it is interrupted. */
const INTERRUPT_MS = 500;

/** Nothing can interrupt a source that waits for its server; a process that is done does not wait with it. */
function holdNoLonger(runtime: Runtime): void {
  setTimeout(() => runtime.kill(), INTERRUPT_MS).unref();
}
