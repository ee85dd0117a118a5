import type { After } from "../cache/schedule.ts";
import type { McpSettings } from "../config/mcp-config.ts";
import type { Report } from "../events.ts";
import type { TrustedProxies } from "../http/forwarded.ts";
import type { RequestHandler } from "../http/listen.ts";
import type { McpCore } from "./core.ts";
import { changedLists, meaningOf } from "./events.ts";
import { type HttpContext, handleHttp } from "./http/handle-http.ts";
import { bordersOf } from "./http/host-policy.ts";
import { openKeepAlive } from "./http/keep-alive.ts";
import type { ProtectedResource } from "./http/pages.ts";
import { isShared, pathOf } from "./http/paths.ts";
import type { McpAccess, McpService } from "./mcp-service.ts";
import { openCalls } from "./open-calls.ts";
import { openSessions } from "./sessions.ts";
import { openState } from "./state.ts";
import { type StdioOptions, serveStdio } from "./stdio.ts";
import { openStreams } from "./streams.ts";
import { memoryTaskStore } from "./tasks/memory-store.ts";
import { openTasks } from "./tasks/open-tasks.ts";
import type { TaskStore } from "./tasks/task.ts";

export interface McpServerOptions {
  readonly service: McpService;
  readonly gate: McpAccess;
  readonly settings: McpSettings;
  readonly report: Report;
  /** Milliseconds. */
  readonly now: () => number;
  readonly after: After;
  /** What nobody can guess, in visible ASCII: for sessions and tasks. */
  readonly randomId: () => string;
  readonly proxies: Pick<TrustedProxies, "isTrusted">;
  /** Undefined where tokens are not had from an identity provider. */
  readonly protectedResource?: () => ProtectedResource | undefined;
  readonly taskStore?: TaskStore | undefined;
}

/** Offers a project to agents. It opens no port: HTTP and stdio are brought to it. Spec 4.6. */
export interface McpServer {
  readonly handle: RequestHandler;
  /** Whether a target (`request.url`) is ours on a listener that has others, too. */
  handles(url: string | undefined): boolean;
  /** Resolves when the input has ended and everything has been answered. */
  serveStdio(options: StdioOptions): Promise<void>;
  /** After a reload. Clients hear of the lists that differ; calls that run keep what they began with. */
  replace(service: McpService, gate: McpAccess, settings: McpSettings): void;
  /**
   * These resources hold something else now. `{name}` in an address stands for whatever a client watches there. What two
   * of them mean is told once.
   */
  resourceUpdated(...uris: readonly string[]): void;
  /** Ends every stream that stays open, as the protocol has it; clients open others. */
  endStreams(): void;
  /** From now on new calls are refused, and streams end as the protocol has it. */
  drain(): void;
  /** Ends every call and task that runs. */
  cancelAll(): void;
  close(): void;
}

export function openMcpServer(options: McpServerOptions): McpServer {
  const { report, now, after, randomId } = options;
  let state = openState(options.service, options.gate, options.settings);
  let borders = bordersOf(options.settings);
  let draining = false;
  const streams = openStreams();
  const store = options.taskStore ?? memoryTaskStore();
  const core: McpCore = {
    state: () => state,
    sessions: openSessions({ now, randomId }),
    streams,
    calls: openCalls(),
    tasks: openTasks({ store, now, after, randomId, report, publish: (event) => streams.publish(event) }),
    report,
    after,
    isDraining: () => draining,
  };
  const keepAlive = openKeepAlive(after);
  const { proxies, protectedResource = () => undefined } = options;
  const context: HttpContext = { ...core, proxies, keepAlive, protectedResource, borders: () => borders };
  const drain = (): void => {
    draining = true;
    streams.endAll();
  };
  const cancelAll = (): void => core.calls.cancelAll({ kind: "draining" });
  return {
    handle: (request, response) => handleHttp(request, response, context),
    handles: (url) => isShared(pathOf(url)),
    serveStdio: (stdio) => serveStdio(stdio, { ...core, now, randomId }),
    replace(service, gate, settings) {
      const before = state.service;
      state = openState(service, gate, settings);
      borders = bordersOf(settings);
      for (const list of changedLists(before, service)) streams.publish({ kind: "list-changed", list });
    },
    resourceUpdated(...uris) {
      const meanings = uris.map(meaningOf);
      streams.publish({ kind: "resource-updated", isMeant: (watched) => meanings.some((means) => means(watched)) });
    },
    endStreams: streams.endAll,
    drain,
    cancelAll,
    close() {
      drain();
      cancelAll();
      core.tasks.close();
      keepAlive.close();
    },
  };
}
