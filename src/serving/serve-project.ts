import { hasErrors, type Problem } from "../config/problem.ts";
import type { LoadedProject, MainConfig, Project } from "../config/project.ts";
import { type Events, openEvents, type Report } from "../events.ts";
import { ListenError } from "../http/listen.ts";
import { CertificateError } from "../http/tls.ts";
import type { FinishedRequest } from "../rest/observe-request.ts";
import { type OpenOptions, openService, type Service } from "../service/service.ts";
import { openMetricsOf, openObservability } from "./observability.ts";
import { openProjectAudit } from "./open-audit.ts";
import { type Address, type OpenedSurfaces, openSurfaces } from "./open-surfaces.ts";
import { openReloads } from "./reload.ts";
import { drainAll, type Surfaces, stopAll } from "./surfaces.ts";
import { watchFiles } from "./watch-files.ts";

/** What serving needs from its process. */
export interface ServerProcess extends Pick<OpenOptions, "temporary" | "self" | "cwd" | "env"> {
  readonly now: () => Date;
  /** Calls the listener on every SIGTERM and SIGINT. */
  onStop(listener: () => void): void;
  /** Calls the listener on every SIGHUP. */
  onReload(listener: () => void): void;
  /** Ends the process now, whatever its threads are doing. */
  kill(): void;
}

export interface ServeOptions {
  /** Reads the project again, for a reload. */
  readonly load: () => Promise<LoadedProject>;
  /** Whether security warnings are errors. */
  readonly strict: boolean;
  /** Whether to reload when a file changes. */
  readonly watch: boolean;
  /** Whether this is `eider dev`, which adds metrics, timings and a docs page that updates itself. */
  readonly isDev: boolean;
  /** Prints problems. */
  readonly show: (problems: readonly Problem[]) => void;
  /** Logs events. */
  readonly log: Report;
  /** Prints a line of an audit that goes to standard output. */
  readonly audit: (line: string) => void;
  /** Called when every port is open. */
  readonly onReady: (addresses: readonly Address[]) => void;
  /** Called for every finished request, even if it reached no endpoint. */
  readonly onRequestEnd?: ((request: FinishedRequest) => void) | undefined;
}

/** How serving ended. Problems have been shown. */
export type ServeEnd =
  | { readonly kind: "stopped" }
  | { readonly kind: "problems" }
  | { readonly kind: "unavailable"; readonly message: string };

export interface ProjectFiles {
  readonly project: Project;
  /** Every file that was read or looked for. */
  readonly files: readonly string[];
}

/** Opens a project and serves it until a signal stops it. */
export async function serveProject(
  { project, files }: ProjectFiles,
  options: ServeOptions,
  serverProcess: ServerProcess,
): Promise<ServeEnd> {
  const { show, strict, isDev } = options;
  const { main } = project;
  const { now, temporary, self, cwd, env } = serverProcess;
  const metrics = await openMetricsOf(main, { now, isDev });
  metrics?.watchProcess();
  const events = openEvents(options.log, ...(metrics === undefined ? [] : [metrics.onEvent]));
  const { report } = events;
  const opening: OpenOptions = { report, connect: true, temporary, self, cwd, env, purpose: "serve", strict };
  const { service, problems, unreachable = "the project could not be opened" } = await openService(project, opening);
  show(problems);
  if (service === undefined) {
    return hasErrors(problems) ? { kind: "problems" } : { kind: "unavailable", message: unreachable };
  }
  const audit = await openProjectAudit(main, report, options.audit);
  if ("severity" in audit) {
    await service.close();
    show([audit]);
    return { kind: "problems" };
  }
  const observability = await openObservability(service, { report, metrics, isDev });
  const close = async (current: Service): Promise<void> => {
    await Promise.race([current.close(), new Promise((resolve) => setTimeout(resolve, INTERRUPT_MS).unref())]);
    await audit.close();
    await observability.close();
  };
  const observers = [...audit.observers, ...observability.observers];
  const { onRequestEnd } = options;
  const surfaces = await openSurfaces(service, { report, now, observers, observability, isDev, onRequestEnd }).catch(
    async (error: unknown) => {
      await close(service);
      return endOf(error, main, show);
    },
  );
  if ("kind" in surfaces) return surfaces;
  events.listen(surfaces.onEvent);
  return await run({ service, files, surfaces, events, opening, close }, options, serverProcess);
}

/** How serving ends if a port cannot be opened or a certificate cannot be used. */
function endOf(error: unknown, main: MainConfig, show: ServeOptions["show"]): ServeEnd {
  if (error instanceof ListenError) return { kind: "unavailable", message: error.message };
  if (!(error instanceof CertificateError)) throw error;
  const path = "enforce-https";
  const { message } = error;
  show([{ severity: "error", location: main.locate([path]), path, message }]);
  return { kind: "problems" };
}

interface RunningServer {
  readonly service: Service;
  readonly files: readonly string[];
  readonly surfaces: OpenedSurfaces;
  readonly events: Events;
  readonly opening: OpenOptions;
  /** Closes the service that is current at the end, then the audit and observability. */
  readonly close: (service: Service) => Promise<void>;
}

async function run(
  { service, files, surfaces, events, opening, close }: RunningServer,
  { load, show, onReady, ...options }: ServeOptions,
  serverProcess: ServerProcess,
): Promise<ServeEnd> {
  const { main } = service.project;
  const stop = stopOnSignals(surfaces, serverProcess);
  const watch = options.watch ? await watchFiles({ folder: main.templatePath, files }, events.report) : undefined;
  const reloads = openReloads({
    service,
    surfaces,
    async load() {
      const loaded = await load();
      // Even if there are problems: they will be fixed in these files.
      watch?.follow({ folder: loaded.project?.main.templatePath, files: loaded.files });
      return loaded;
    },
    opening,
    show,
    fatal: (message) => stop.abort({ kind: "unavailable", message } satisfies ServeEnd),
  });
  events.listen((event) => {
    if (event.kind === "files-changed") reloads.request();
    if (event.kind === "database-lost") reloads.reopen();
  });
  serverProcess.onReload(reloads.request);
  onReady(surfaces.addresses);
  await new Promise<void>((resolve) => {
    if (stop.signal.aborted) resolve();
    else stop.signal.addEventListener("abort", () => resolve());
  });
  await watch?.close();
  await reloads.close();
  await drainAll(surfaces, main.limits.shutdownGraceMs);
  await drainAll({ surfaces: [], listeners: surfaces.lastToClose }, 0);
  await close(reloads.current());
  killSoon(serverProcess);
  return stop.signal.reason;
}

/**
 * Returns a controller that is aborted with a ServeEnd. The first signal lets calls in flight finish, the second cancels them
 * and kills the process a few seconds later, and the third kills it at once.
 */
function stopOnSignals(surfaces: Surfaces, serverProcess: ServerProcess): AbortController {
  const stop = new AbortController();
  let signals = 0;
  serverProcess.onStop(() => {
    signals++;
    if (signals > 2) serverProcess.kill();
    if (signals === 2) {
      stopAll(surfaces);
      killSoon(serverProcess);
    }
    stop.abort({ kind: "stopped" } satisfies ServeEnd);
  });
  return stop;
}

/** How long other threads have to notice an interrupt. A busy machine may need seconds for that. */
const INTERRUPT_MS = 5_000;

/** A query that waits for another server cannot be interrupted; the process does not wait for it. */
function killSoon(serverProcess: ServerProcess): void {
  setTimeout(() => serverProcess.kill(), INTERRUPT_MS).unref();
}
