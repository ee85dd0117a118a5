import type { Caches } from "../cache/caches.ts";
import type { ConnectionStatus } from "../calls/connection-status.ts";
import type { Heartbeats } from "../heartbeat/open-heartbeats.ts";

/** What can fail while the service keeps serving. */
export interface HealthParts {
  readonly connectionStatus: ConnectionStatus;
  readonly caches: Caches;
  readonly heartbeats: Pick<Heartbeats, "statuses"> | undefined;
}

/** `live` means that the process responds, `ready` that it should get requests. The body of `ready` names what fails. */
export function healthAt(path: string, parts: HealthParts, draining: boolean) {
  switch (path.length > 1 ? path.replace(/\/$/, "") : path) {
    case "/health":
    case "/health/live":
      return { status: 200, body: { status: "ok" } };
    case "/health/ready":
      return readyResponse(parts, draining);
    default:
      return undefined;
  }
}

function readyResponse({ connectionStatus, caches, heartbeats }: HealthParts, draining: boolean) {
  if (draining) return { status: 503, body: { status: "draining" } };
  // In the background: a data source that does not respond must not delay this response.
  connectionStatus.check();
  const failing = [...new Set([...connectionStatus.down().keys(), ...connectionStatus.opening()])];
  const reasons = Object.fromEntries(
    failing.flatMap((name) => {
      const waitingFor = connectionStatus.waitingFor(name);
      return waitingFor === undefined ? [] : [[name, waitingFor]];
    }),
  );
  const failingCaches = caches
    .statuses()
    .flatMap(({ name, error }) => (error === undefined ? [] : `${name.schema}.${name.table}`));
  const failingHeartbeats = (heartbeats?.statuses() ?? []).flatMap(({ endpoint, works }) =>
    works === false ? endpoint : [],
  );
  if (failing.length === 0 && failingCaches.length === 0 && failingHeartbeats.length === 0) {
    return { status: 200, body: { status: "ok" } };
  }
  return {
    status: 200,
    body: {
      status: "degraded",
      ...unlessEmpty("connections", failing),
      ...(Object.keys(reasons).length > 0 && { reasons }),
      ...unlessEmpty("caches", failingCaches),
      ...unlessEmpty("heartbeats", failingHeartbeats),
    },
  };
}

function unlessEmpty(key: string, names: readonly string[]): Readonly<Record<string, readonly string[]>> {
  return names.length === 0 ? {} : { [key]: names };
}
