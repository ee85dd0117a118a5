import { join } from "node:path";
import { openAudit } from "../src/audit/audit.ts";
import { auditObserver } from "../src/calls/audit-observer.ts";
import { loadProject } from "../src/config/load-project.ts";
import { formatProblem } from "../src/config/problem.ts";
import { openEvents, type ServiceEvent } from "../src/events.ts";
import { type Listener, listen } from "../src/http/listen.ts";
import { openRestApp, type RestApp } from "../src/rest/rest-app.ts";
import { openService, type Service } from "../src/service/service.ts";
import { type Observability, openMetricsOf, openObservability } from "../src/serving/observability.ts";
import { testSelf } from "./self.ts";

export interface ServedFolder extends AsyncDisposable {
  readonly url: string;
  readonly service: Service;
  readonly app: RestApp;
  readonly listener: Listener;
  readonly observation: Observability;
  readonly events: readonly ServiceEvent[];
  /** Warnings, as `eider serve` prints them. */
  readonly problems: readonly string[];
  /** The lines of an audit log whose sink is stdout. */
  readonly audited: readonly string[];
}

/** Serves the project in a folder on a free port, like `eider serve`. */
export async function serveFolder(folder: string, env: Record<string, string> = {}): Promise<ServedFolder> {
  const events: ServiceEvent[] = [];
  const { report, listen: hear } = openEvents((event) => events.push(event));
  const now = (): Date => new Date();
  const loaded = await loadProject({
    file: join(folder, "eider.yaml"),
    cwd: folder,
    env,
    overrides: { port: 0 },
    temporaryFiles: testSelf,
  });
  const metrics = loaded.project && (await openMetricsOf(loaded.project.main, { now, isDev: false }));
  if (metrics !== undefined) hear(metrics.onEvent);
  const opening = { report, connect: true, ...testSelf, env, purpose: "serve" } as const;
  const opened = loaded.project && (await openService(loaded.project, opening));
  const problems = [...loaded.problems, ...(opened?.problems ?? [])].map(formatProblem);
  const service = opened?.service;
  if (service === undefined) throw new Error([...problems, opened?.unreachable].join("\n"));
  const { audit: auditing, https } = service.project.main.access;
  const lines: string[] = [];
  const audit = auditing && (await openAudit(auditing, { stdout: (line) => lines.push(line), report }));
  const observation = await openObservability(service, { report, metrics, isDev: false });
  const observers = [...(audit === undefined ? [] : [auditObserver(audit)]), ...observation.observers];
  const app = openRestApp(service, { report, now, observers, ...observation.rest });
  const tls = https?.tls && { ...https.tls, report };
  const listener = await listen({ host: "127.0.0.1", port: 0, handle: app.handle, tls });
  return {
    url: listener.url,
    service,
    app,
    listener,
    observation,
    events,
    problems,
    audited: lines,
    async [Symbol.asyncDispose]() {
      app.cancelAll();
      listener.destroy();
      await listener.close();
      await observation.close();
      await service.close();
      await audit?.close();
    },
  };
}
