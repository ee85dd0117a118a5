import type { Authenticators } from "../auth/authenticators.ts";
import type { TokenExchange } from "../auth/oidc/token-exchange.ts";
import type { ConnectionStatus } from "../calls/connection-status.ts";
import type { CallContext } from "../calls/run-call.ts";
import type { CallServices } from "../calls/run-endpoint.ts";
import type { AccessConfig } from "../config/access-config.ts";
import type { Project } from "../config/project.ts";
import type { Endpoint } from "../endpoint/endpoint.ts";
import type { Failure } from "../failure.ts";
import type { Heartbeats } from "../heartbeat/open-heartbeats.ts";
import type { MetricsPage } from "../metrics/open-metrics.ts";
import type { RateLimiter } from "../rate-limit/rate-limiter.ts";
import type { Docs } from "./docs.ts";
import type { LivePages } from "./live-pages.ts";
import type { RequestObserver } from "./observe-request.ts";
import type { ResponseCache } from "./response/response-cache.ts";

/** The parts of an open project that REST needs. */
export interface RestService extends CallServices {
  readonly project: Project;
  readonly endpoints: readonly Endpoint[];
  readonly authenticators: Pick<Authenticators, "of">;
  readonly rateLimiter: RateLimiter;
  readonly connectionStatus: ConnectionStatus;
}

/** Everything that request handlers need. */
export interface RestContext extends CallContext {
  readonly service: RestService;
  readonly isDraining: () => boolean;
  /** Functions that cancel the calls in flight. */
  readonly stops: Set<(failure: Failure) => void>;
  readonly responseCache: ResponseCache;
  readonly access: AccessConfig;
  readonly tokenExchange: TokenExchange | undefined;
  /** Whether an observer needs the parameters, even if the response is cached. */
  readonly needsParameters: boolean;
  readonly onRequestEnd: RequestObserver | undefined;
  readonly sendsServerTiming: boolean;
  /** Undefined when there is no documentation. */
  readonly docs: Docs | undefined;
  /** Pages that receive changes, in `eider dev`. */
  readonly livePages: LivePages | undefined;
  /** Undefined when health and metrics have a listener of their own. */
  readonly admin: AdminParts | undefined;
}

/** Metrics and heartbeats, for the health and metrics routes. */
export interface AdminParts {
  /** Undefined when metrics are disabled, or not served on the REST port. */
  readonly metrics: MetricsPage | undefined;
  readonly heartbeats: Pick<Heartbeats, "statuses"> | undefined;
}
