import type { McpSettings } from "../config/mcp-config.ts";
import type { Report } from "../events.ts";
import type { TrustedProxies } from "../http/forwarded.ts";
import type { RequestHandler } from "../http/listen.ts";
import type { After } from "../time-limit.ts";
import type { McpCore } from "./core.ts";
import { changedLists, uriMatcher } from "./events.ts";
import { type HttpContext, handleHttp } from "./http/handle-http.ts";
import { hostPolicyOf } from "./http/host-policy.ts";
import { openKeepAlive } from "./http/keep-alive.ts";
import type { ProtectedResource } from "./http/pages.ts";
import { isMcpPath, pathOf } from "./http/paths.ts";
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
  readonly access: McpAccess;
  readonly settings: McpSettings;
  readonly report: Report;
  /** Milliseconds. */
  readonly now: () => number;
  readonly after: After;
  /** An unguessable ID in visible ASCII, for sessions and tasks. */
  readonly randomId: () => string;
  readonly proxies: Pick<TrustedProxies, "isTrusted">;
  /** Undefined if tokens do not come from an identity provider. */
  readonly protectedResource?: () => ProtectedResource | undefined;
  readonly taskStore?: TaskStore | undefined;
}

/** The MCP server of a project. It opens no port itself. See docs/agents.md. */
export interface McpServer {
  readonly handle: RequestHandler;
  /** Whether a request target (`request.url`) belongs to MCP on a listener that also serves REST. */
  handles(url: string | undefined): boolean;
  /** Resolves when the input has ended and all responses have been sent. */
  serveStdio(options: StdioOptions): Promise<void>;
  /** Switches to a new version after a reload. Notifies clients of changed lists. Calls in flight keep the old version. */
  replace(service: McpService, access: McpAccess, settings: McpSettings): void;
  /**
   * Notifies clients that these resources changed. `{name}` in a URI matches any value. A URI that matches several of them
   * is reported once.
   */
  resourceUpdated(...uris: readonly string[]): void;
  /** Ends every open stream as the protocol specifies. Clients open new ones. */
  endStreams(): void;
  /** Rejects new calls, and ends streams as the protocol specifies. */
  drain(): void;
  /** Cancels every running call and task. */
  cancelAll(): void;
  close(): void;
}

export function openMcpServer(options: McpServerOptions): McpServer {
  const { report, now, after, randomId } = options;
  let state = openState(options.service, options.access, options.settings);
  let hostPolicy = hostPolicyOf(options.settings);
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
  const context: HttpContext = { ...core, proxies, keepAlive, protectedResource, hostPolicy: () => hostPolicy };
  const drain = (): void => {
    draining = true;
    streams.endAll();
  };
  const cancelAll = (): void => core.calls.cancelAll({ kind: "draining" });
  return {
    handle: (request, response) => handleHttp(request, response, context),
    handles: (url) => isMcpPath(pathOf(url)),
    serveStdio: (stdio) => serveStdio(stdio, { ...core, now, randomId }),
    replace(service, access, settings) {
      const before = state.service;
      state = openState(service, access, settings);
      hostPolicy = hostPolicyOf(settings);
      for (const list of changedLists(before, service)) streams.publish({ kind: "list-changed", list });
    },
    resourceUpdated(...uris) {
      const matchers = uris.map(uriMatcher);
      streams.publish({ kind: "resource-updated", matches: (uri) => matchers.some((isMatch) => isMatch(uri)) });
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
