import type { TokenExchange } from "../auth/oidc/token-exchange.ts";
import type { Deadline } from "../calls/deadline.ts";
import type { CallObserver } from "../calls/observed-call.ts";
import type { AccessConfig } from "../config/access-config.ts";
import type { Report } from "../events.ts";
import type { Heartbeats } from "../heartbeat/open-heartbeats.ts";
import { type Holdable, holdable } from "../http/holdable.ts";
import type { MetricsPage } from "../metrics/open-metrics.ts";
import type { Service } from "../service/service.ts";
import type { AccessControl } from "./check-access.ts";
import { type Docs, openDocs } from "./handle-docs.ts";
import { handleRequest } from "./handle-request.ts";
import { type LivePages, openLivePages } from "./live-pages.ts";
import type { FinishedRequest, Watch } from "./observe-call.ts";
import { openResponseCache, type ResponseCache } from "./response/response-cache.ts";

/** The REST surface of a service: what a listener calls, and how it is brought to rest. */
export interface RestApp extends Holdable {
  /** Makes another state ready; what it gives back serves that from now on. Calls in flight keep theirs. */
  prepare(service: Service): Promise<() => void>;
  /** From now on new calls are refused with 503; those in flight go on. */
  drain(): void;
  /** Ends the calls in flight: their queries are interrupted. */
  cancelAll(): void;
  /** Ends what never ends by itself: pages that wait to hear of changes. */
  endStreams(): void;
}

/** What is told of the service itself, beside what it serves. */
export interface OwnParts {
  /** Undefined when they are off, or not served on the REST port. */
  readonly metrics: MetricsPage | undefined;
  readonly heartbeats: Pick<Heartbeats, "statuses"> | undefined;
}

/** What a request sees of the app around it. */
export interface RestContext {
  readonly service: Service;
  readonly report: Report;
  readonly isDraining: () => boolean;
  /** Calls in flight. */
  readonly deadlines: Set<Deadline>;
  readonly remembered: ResponseCache;
  readonly access: AccessConfig;
  readonly gate: AccessControl;
  readonly tokenExchange: TokenExchange | undefined;
  readonly watch: Watch;
  readonly now: () => Date;
  /** Undefined when there is no documentation to be had. */
  readonly docs: Docs | undefined;
  /** Pages that hear of changes, in `eider dev`. */
  readonly livePages: LivePages | undefined;
  /** Undefined when health and metrics have a listener of their own. */
  readonly admin: OwnParts | undefined;
}

export interface RestOptions {
  readonly report: Report;
  readonly now: () => Date;
  readonly observers: readonly CallObserver[];
  /** Hears of every request, those that reach no endpoint too. */
  readonly answered?: ((answered: FinishedRequest) => void) | undefined;
  /** Whether the page at /docs shows what has changed by itself. */
  readonly isLive?: boolean;
  /** `elsewhere`: health and metrics have a listener of their own. Absent: health alone is told here. */
  readonly admin?: OwnParts | "elsewhere";
  /** Whether answers say how long their parts took. */
  readonly tellsTimes?: boolean;
}

const HEALTH_ALONE: OwnParts = { metrics: undefined, heartbeats: undefined };

export function openRestApp(first: Service, options: RestOptions): RestApp {
  const { report, now, observers, answered, isLive = false, tellsTimes = false, admin = HEALTH_ALONE } = options;
  let draining = false;
  const deadlines = new Set<Deadline>();
  const livePages = isLive ? openLivePages() : undefined;
  let context = contextOf(first);

  function contextOf(service: Service): RestContext {
    const { access, cache, docs } = service.project.main;
    return {
      service,
      report,
      isDraining: () => draining,
      deadlines,
      remembered: openResponseCache(cache?.maxBytes),
      access,
      gate: {
        authenticators: service.authenticators,
        rateLimiter: service.rateLimiter,
        proxies: access.proxies,
        now: () => performance.now(),
      },
      tokenExchange: access.auth && service.authenticators.of(access.auth).exchange,
      watch: {
        observers,
        needsParameters: observers.some(({ needsParameters }) => needsParameters),
        proxies: access.proxies,
        now,
        answered,
        tellsTimes,
      },
      now,
      docs: docs && openDocs(service, { now, isLive }),
      livePages,
      admin: admin === "elsewhere" ? undefined : admin,
    };
  }

  return {
    ...holdable((request, response) => handleRequest(request, response, context)),
    async prepare(service) {
      const next = contextOf(service);
      return () => {
        context = next;
        livePages?.reload();
      };
    },
    drain() {
      draining = true;
      livePages?.close();
    },
    cancelAll() {
      for (const deadline of deadlines) deadline.cancel({ kind: "draining" });
    },
    endStreams: () => livePages?.close(),
  };
}
