import { type Audit, openAudit } from "../audit/audit.ts";
import { auditObserver } from "../calls/audit-observer.ts";
import { loadProject } from "../config/load-project.ts";
import { oneLine, type Problem } from "../config/problem.ts";
import type { LoadedProject, MainConfig, Project } from "../config/project.ts";
import type { Report } from "../events.ts";
import { ListenError, type Listener, listen } from "../http/listen.ts";
import { CertificateError } from "../http/tls.ts";
import { openLogger } from "../log/logger.ts";
import { openRestApp } from "../rest/rest-app.ts";
import { type OpenOptions, openService, type Service } from "../service.ts";
import { tryProject } from "./check.ts";
import { type ExitCode, exitCodes, type Runtime } from "./command.ts";
import type { ProjectOptions } from "./options.ts";
import { hasErrors, printProblems, printProblemsInSource, strictly } from "./print-problems.ts";
import { openReloads } from "./reload.ts";
import { requestLine } from "./request-line.ts";
import { drainAll, type Surfaces, stopAll } from "./surfaces.ts";
import { watchFiles } from "./watch-files.ts";

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
    const rest = loaded.sound && (await tryProject(loaded.sound, true, runtime));
    show([...loaded.problems, ...(rest?.problems ?? [])]);
    return exitCodes.problem;
  }
  if (hasErrors(show(loaded.problems))) return exitCodes.problem;
  const { project } = loaded;
  for (const line of project.inactive) runtime.stderr.write(`not active yet: ${line}\n`);
  const { report } = openLogger({
    level: project.main.log.level,
    format: project.main.log.format ?? (runtime.stderr.isTerminal || serving.isDev ? "pretty" : "json"),
    write: (line) => runtime.stderr.write(line),
    now: runtime.now,
  });
  const { temporary, self, env } = runtime;
  const opening: OpenOptions = { report, connect: true, temporary, self, env };
  const opened = await openService(project, opening);
  if (hasErrors(show(opened.problems))) {
    await opened.service?.close();
    return exitCodes.problem;
  }
  if (opened.service === undefined) {
    runtime.stderr.write(`${oneLine(opened.unreachable ?? "the project could not be opened")}\n`);
    return exitCodes.unavailable;
  }
  return await run({ load, show, loaded, opening, service: opened.service, serving }, runtime);
}

interface Running {
  readonly load: () => Promise<LoadedProject>;
  readonly show: (problems: readonly Problem[]) => readonly Problem[];
  readonly loaded: LoadedProject;
  readonly opening: OpenOptions;
  readonly service: Service;
  readonly serving: Serving;
}

async function run(running: Running, runtime: Runtime): Promise<ExitCode> {
  const { load, show, loaded, opening, service, serving } = running;
  const { report } = opening;
  const { main } = service.project;
  const audit = await openAuditOf(main, report, runtime);
  if (audit === "failed") {
    await service.close();
    return exitCodes.problem;
  }
  const opened = await openSurfaces(service, { report, audit, serving }, runtime);
  if (typeof opened === "number") {
    await service.close();
    await audit?.close();
    return opened;
  }
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
      runtime.stderr.write(`${message}\n`);
      ending.end(exitCodes.unavailable);
    },
  });
  const watch = serving.watch ? await watchFiles(watchedOf(service.project, loaded.files), reloads.request) : undefined;
  runtime.onReload(reloads.request);
  service.caches.start();
  announce(opened.listeners, service, { isDev: serving.isDev, runtime });
  const code = await ending.ended;
  await watch?.close();
  await reloads.close();
  await drainAll(opened, main.limits.shutdownGraceMs);
  await Promise.race([reloads.current().close(), new Promise((resolve) => setTimeout(resolve, INTERRUPT_MS).unref())]);
  await audit?.close();
  holdNoLonger(runtime);
  return code;
}

function watchedOf({ main }: Project, files: readonly string[]) {
  return { folder: main.templatePath, files: [main.file, ...files] };
}

/** Where calls are written down, when they are. */
async function openAuditOf(
  main: MainConfig,
  report: Report,
  { stdout, stderr }: Runtime,
): Promise<Audit | undefined | "failed"> {
  const { audit } = main.protections;
  if (audit === undefined) return undefined;
  try {
    return await openAudit(audit, { stdout: (line) => stdout.write(line), report });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    printProblems([{ severity: "error", location: main.locate(["audit"]), path: "audit.path", message }], stderr);
    return "failed";
  }
}

interface Opening {
  readonly report: Report;
  readonly audit: Audit | undefined;
  readonly serving: Serving;
}

/** Opens every port; the exit code when one cannot be. */
async function openSurfaces(
  service: Service,
  { report, audit, serving }: Opening,
  runtime: Runtime,
): Promise<Surfaces | ExitCode> {
  const { main } = service.project;
  const app = openRestApp(service, {
    report,
    now: runtime.now,
    observers: audit === undefined ? [] : [auditObserver(audit)],
    isLive: serving.isDev,
    answered: serving.isDev
      ? (request) => {
          const line = requestLine(request, runtime.stdout);
          if (line !== undefined) runtime.stdout.write(`${line}\n`);
        }
      : undefined,
  });
  try {
    const { https } = main.protections;
    const tls = https?.tls && { ...https.tls, report };
    return { surfaces: [app], listeners: [await listen({ ...main.http, handle: app.handle, tls })] };
  } catch (error) {
    if (error instanceof CertificateError) {
      const { message } = error;
      const location = main.locate(["enforce-https"]);
      printProblems([{ severity: "error", location, path: "enforce-https", message }], runtime.stderr);
      return exitCodes.problem;
    }
    if (!(error instanceof ListenError)) throw error;
    runtime.stderr.write(`${error.message}\n`);
    return exitCodes.unavailable;
  }
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
  [rest]: readonly Listener[],
  { project }: Service,
  { isDev, runtime }: { readonly isDev: boolean; readonly runtime: Runtime },
): void {
  if (rest === undefined) return;
  runtime.stdout.write(`REST listening on ${rest.url}\n`);
  if (!isDev) return;
  if (project.main.docs !== undefined) runtime.stdout.write(`Documentation at ${rest.url}/docs\n`);
  runtime.stdout.write(`Watching ${project.main.templatePath}\n`);
}

/** For work on other threads to hear that it is interrupted. */
const INTERRUPT_MS = 500;

/** Nothing can interrupt a source that waits for its server; a process that is done does not wait with it. */
function holdNoLonger(runtime: Runtime): void {
  setTimeout(() => runtime.kill(), INTERRUPT_MS).unref();
}
