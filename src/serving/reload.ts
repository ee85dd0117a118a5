import { setTimeout as delay } from "node:timers/promises";
import { hasErrors, type Problem } from "../config/problem.ts";
import type { LoadedProject, MainConfig, Project } from "../config/project.ts";
import {
  canShareState,
  type OpenedService,
  type OpenOptions,
  openService,
  reopenService,
  type Service,
} from "../service/service.ts";
import { pauseAll, type Surfaces, switchAll } from "./surfaces.ts";

/** Reloads a project while it is served. */
export interface Reloads {
  /** Reloads the project. One reload runs at a time; requests during it cause one more. */
  request(): void;
  /** Reopens the database, which is unusable. Requests wait meanwhile. */
  reopen(): void;
  /** Starts no more reloads; resolves when the running one has ended. */
  close(): Promise<void>;
  current(): Service;
}

export interface ReloadOptions {
  readonly service: Service;
  readonly surfaces: Surfaces;
  readonly load: () => Promise<LoadedProject>;
  readonly opening: OpenOptions;
  readonly show: (problems: readonly Problem[]) => void;
  /** Called when neither the new version nor the previous one can be served. */
  readonly fatal: (message: string) => void;
}

const DATABASE = "the database";
/** Short, since queries in a lost database fail by themselves. */
const LOST_GRACE_MS = 500;
/** Requests wait meanwhile, so the number of attempts is limited. */
const REOPEN_PAUSES_MS = [500, 1_000, 2_000, 4_000, 8_000] as const;
/** A database that is lost again within this time is reopened only after a pause, which grows each time. */
const STABLE_MS = 60_000;
const MAX_PAUSE_MS = 30_000;

export function openReloads(options: ReloadOptions): Reloads {
  const { surfaces, load, opening, show } = options;
  const { report } = opening;
  let current = options.service;
  let isRequested = false;
  let isLost = false;
  let reopenedAt = Number.NEGATIVE_INFINITY;
  let delayMs = 0;
  const closing = new AbortController();
  let running: Promise<void> | undefined;

  async function work(): Promise<void> {
    while ((isRequested || isLost) && !closing.signal.aborted) {
      const next = isLost ? reopenDatabase : reload;
      if (isLost) isLost = false;
      else isRequested = false;
      await next().catch((error: unknown) => report({ kind: "unexpected", requestId: "reload", error }));
    }
    running = undefined;
  }

  function begin(): void {
    running ??= work();
  }

  async function reload(): Promise<void> {
    const from = performance.now();
    const loaded = await load();
    const { project, problems } = loaded;
    show(problems);
    if (project === undefined || hasErrors(problems)) return report({ kind: "reload-refused", reason: "problems" });
    const opened = canShareState(project, current) ? await switchVersion(project) : await reopenWith(project);
    if (opened === undefined) return;
    current = opened;
    const ms = performance.now() - from;
    report({ kind: "reloaded", endpoints: project.endpoints.length, ms });
  }

  /** Opens a new version on the same database and switches to it. Clients notice nothing. */
  async function switchVersion(project: Project): Promise<Service | undefined> {
    const previous = current;
    const service = showAndReport(await reopenService(project, previous, opening));
    if (service === undefined) return undefined;
    reportRestartNeeded(previous.project.main, project.main);
    await switchAll(surfaces, service);
    previous.retire(service);
    return service;
  }

  /** Reopens the database because its settings changed. Requests wait meanwhile. */
  async function reopenWith(project: Project): Promise<Service | undefined> {
    const previous = current;
    const release = await pauseAll(surfaces, project.main.limits.shutdownGraceMs);
    try {
      await previous.close();
      const service = showAndReport(await openService(project, opening));
      if (service !== undefined) reportRestartNeeded(previous.project.main, project.main);
      const next = service ?? (await openService(previous.project, opening)).service;
      if (next === undefined) {
        options.fatal("cannot reopen the database of the previous version");
        return undefined;
      }
      await switchAll(surfaces, next);
      current = next;
      return service;
    } finally {
      release();
    }
  }

  /** Reopens the same project. Retries for a while, since a full disk may be freed. */
  async function reopenDatabase(): Promise<void> {
    report({
      kind: "dependency-down",
      dependency: DATABASE,
      message: "unusable after an error; reopening",
    });
    // While the disk is full, the next write may break the database again.
    delayMs = performance.now() - reopenedAt > STABLE_MS ? 0 : Math.min(MAX_PAUSE_MS, delayMs * 2 || 1_000);
    await pause(delayMs);
    if (closing.signal.aborted) return;
    const release = await pauseAll(surfaces, LOST_GRACE_MS);
    try {
      await current.close();
      for (const pauseMs of [...REOPEN_PAUSES_MS, undefined]) {
        const { service, unreachable } = await openService(current.project, opening);
        if (service !== undefined) {
          await switchAll(surfaces, service);
          current = service;
          reopenedAt = performance.now();
          return report({ kind: "dependency-up", dependency: DATABASE });
        }
        if (pauseMs === undefined || closing.signal.aborted) break;
        report({
          kind: "dependency-down",
          dependency: DATABASE,
          message: unreachable ?? "the project has problems now",
        });
        await pause(pauseMs);
      }
      options.fatal("cannot reopen the database");
    } finally {
      release();
    }
  }

  /** Ends early when the reloads are closed. */
  async function pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: closing.signal }).catch(() => {});
  }

  function showAndReport({ service, problems, unreachable }: OpenedService): Service | undefined {
    show(problems);
    if (service === undefined) report({ kind: "reload-refused", reason: unreachable ?? "problems" });
    return service;
  }

  function reportRestartNeeded(before: MainConfig, after: MainConfig): void {
    for (const key of changedStartupKeys(before, after)) report({ kind: "restart-needed", key });
  }

  return {
    request() {
      isRequested = true;
      begin();
    },
    reopen() {
      isLost = true;
      begin();
    },
    async close() {
      closing.abort();
      await running;
    },
    current: () => current,
  };
}

/** The changed keys that are read only at startup. */
function changedStartupKeys(before: MainConfig, after: MainConfig): readonly string[] {
  const parts = (main: MainConfig): Readonly<Record<string, unknown>> => ({
    "http-port": main.http.port,
    "http-host": main.http.host,
    "enforce-https": main.access.https,
    audit: main.access.audit,
    log: main.log,
    admin: main.observability.admin,
    metrics: main.observability.metrics,
    tracing: main.observability.tracing,
    "mcp.port": main.mcp && (main.mcp.isMounted || [main.mcp.host, main.mcp.port]),
  });
  const old = parts(before);
  return Object.entries(parts(after)).flatMap(([key, value]) =>
    JSON.stringify(value) === JSON.stringify(old[key]) ? [] : key,
  );
}
