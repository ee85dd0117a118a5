import type { Listener } from "../http/listen.ts";
import type { Service } from "../service/service.ts";

/** Serves requests with the current version of a service. */
export interface Surface {
  /** Prepares a new version; the returned function switches to it. Calls in flight finish on the old one. */
  prepare(service: Service): Promise<() => void>;
  /** Requests wait until the returned function is called. */
  pause(): () => void;
  /** Rejects new calls; those in flight continue. */
  drain(): void;
  /** Cancels the calls in flight and interrupts their queries. */
  cancelAll(): void;
  /** Ends streams that never end by themselves. */
  endStreams(): void;
}

/** The surfaces of a service, and their listeners. */
export interface Surfaces {
  readonly surfaces: readonly Surface[];
  readonly listeners: readonly Listener[];
}

/** Switches all surfaces to a new version at once. */
export async function switchAll({ surfaces }: Surfaces, service: Service): Promise<void> {
  const ready = await Promise.all(surfaces.map((surface) => surface.prepare(service)));
  for (const switchOver of ready) switchOver();
}

/** Added to the grace period, so that clients can read the last responses. */
const UNREAD_MS = 2_000;

/** Calls in flight get a grace period, then their queries are interrupted. New calls are rejected. */
export async function drainAll({ surfaces, listeners }: Surfaces, graceMs: number): Promise<void> {
  for (const surface of surfaces) surface.drain();
  await waitForEnd(
    listeners.map((listener) => listener.close()),
    { surfaces, listeners },
    graceMs,
  );
}

/** The same, but new calls wait until the returned function is called. */
export async function pauseAll({ surfaces, listeners }: Surfaces, graceMs: number): Promise<() => void> {
  const releases = surfaces.map((surface) => surface.pause());
  for (const surface of surfaces) surface.endStreams();
  await waitForEnd(
    listeners.map((listener) => listener.whenSettled()),
    { surfaces, listeners },
    graceMs,
  );
  return () => {
    for (const release of releases) release();
  };
}

async function waitForEnd(
  ends: readonly Promise<void>[],
  { surfaces, listeners }: Surfaces,
  graceMs: number,
): Promise<void> {
  const timer = setTimeout(() => {
    for (const surface of surfaces) surface.cancelAll();
  }, graceMs);
  const lastResort = setTimeout(() => {
    for (const listener of listeners) listener.destroy();
  }, graceMs + UNREAD_MS);
  await Promise.all(ends);
  clearTimeout(timer);
  clearTimeout(lastResort);
}

/** Cancels all calls and destroys all connections, without a grace period. */
export function stopAll({ surfaces, listeners }: Surfaces): void {
  for (const surface of surfaces) surface.cancelAll();
  for (const listener of listeners) listener.destroy();
}
