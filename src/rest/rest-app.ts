import type { CallObserver } from "../calls/observed-call.ts";
import type { Report } from "../events.ts";
import type { Failure } from "../failure.ts";
import { type PausableHandler, pausable } from "../http/pausable.ts";
import type { AdminParts, RestContext, RestService } from "./context.ts";
import { openDocs } from "./docs.ts";
import { tokenRoutes } from "./exchange-token.ts";
import { adminRoutes } from "./handle-admin.ts";
import { docsRoutes } from "./handle-docs.ts";
import { handleRequest, type RestState } from "./handle-request.ts";
import { openLivePages } from "./live-pages.ts";
import type { RequestObserver } from "./observe-request.ts";
import { openResponseCache } from "./response/response-cache.ts";
import { buildRouteTable } from "./route-table.ts";

/** The REST surface of a service. A listener calls `handle`. */
export interface RestApp extends PausableHandler {
  /** Prepares a new version of the service. The returned function switches to it. Calls in flight finish on the old one. */
  prepare(service: RestService): Promise<() => void>;
  /** From now on, rejects new calls with 503. Calls in flight continue. */
  drain(): void;
  /** Cancels the calls in flight and interrupts their queries. */
  cancelAll(): void;
  /** Ends the event streams of open documentation pages, which never end by themselves. */
  endStreams(): void;
}

export interface RestOptions {
  readonly report: Report;
  readonly now: () => Date;
  readonly observers: readonly CallObserver[];
  readonly onRequestEnd?: RequestObserver | undefined;
  /** Whether the page at /docs updates when the project changes. */
  readonly isLive?: boolean;
  /** What the health and metrics routes need. By default, only health is served. `elsewhere`: the admin listener serves both. */
  readonly admin?: AdminParts | "elsewhere";
  /** Whether responses have the header `Server-Timing`. */
  readonly sendsServerTiming?: boolean;
}

const HEALTH_ONLY: AdminParts = { metrics: undefined, heartbeats: undefined };

export function openRestApp(first: RestService, options: RestOptions): RestApp {
  const {
    report,
    now,
    observers,
    onRequestEnd,
    isLive = false,
    sendsServerTiming = false,
    admin = HEALTH_ONLY,
  } = options;
  let isDraining = false;
  /** Functions that cancel the calls in flight. */
  const stops = new Set<(failure: Failure) => void>();
  const livePages = isLive ? openLivePages() : undefined;
  let state = stateOf(first);

  function stateOf(service: RestService): RestState {
    const { access, cache, docs } = service.project.main;
    const context: RestContext = {
      services: service,
      rateLimiter: service.rateLimiter,
      observers,
      report,
      now,
      service,
      isDraining: () => isDraining,
      stops,
      responseCache: openResponseCache(cache?.maxBytes),
      access,
      tokenExchange: access.auth && service.authenticators.of(access.auth).exchange,
      needsParameters: observers.some(({ needsParameters }) => needsParameters),
      onRequestEnd,
      sendsServerTiming,
      docs: docs && openDocs(service, { now, isLive }),
      livePages,
      admin: admin === "elsewhere" ? undefined : admin,
    };
    const builtIn = { ...adminRoutes(context), ...docsRoutes(context), ...tokenRoutes(context) };
    return { context, routes: buildRouteTable(service.endpoints, builtIn, access.cors) };
  }

  return {
    ...pausable((request, response) => handleRequest(request, response, state)),
    async prepare(service) {
      const next = stateOf(service);
      return () => {
        state = next;
        livePages?.reload();
      };
    },
    drain() {
      isDraining = true;
      livePages?.close();
    },
    cancelAll() {
      for (const stop of stops) stop({ kind: "draining" });
    },
    endStreams: () => livePages?.close(),
  };
}
