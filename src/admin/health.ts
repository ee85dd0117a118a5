import type { Sources } from "../calls/sources.ts";

export interface HealthAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** Alive: the process answers. Ready: it should get requests; a source that is down is named. decisions 10. */
export function healthAnswer(path: string, sources: Sources, draining: boolean): HealthAnswer | undefined {
  switch (path.length > 1 ? path.replace(/\/$/, "") : path) {
    case "/health":
    case "/health/live":
      return { status: 200, body: { status: "ok" } };
    case "/health/ready":
      return readyAnswer(sources, draining);
    default:
      return undefined;
  }
}

function readyAnswer(sources: Sources, draining: boolean): HealthAnswer {
  if (draining) return { status: 503, body: { status: "draining" } };
  const down = sources.down();
  if (down.size === 0) return { status: 200, body: { status: "ok" } };
  // Asking is a good moment to try again; the answer does not wait for it, and a failure is already on record.
  for (const name of down.keys()) sources.open([name]).catch(() => {});
  return { status: 200, body: { status: "degraded", connections: [...down.keys()] } };
}
