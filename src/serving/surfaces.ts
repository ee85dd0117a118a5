import type { Listener } from "../http/listen.ts";
import type { Service } from "../service/service.ts";

/** What answers requests in the name of a service, whichever state that is in. */
export interface Surface {
  /** Makes another state ready; what it gives back serves that from now on. Calls in flight keep theirs. */
  prepare(service: Service): Promise<() => void>;
  /** From now on requests wait, until what it gives back is called. */
  hold(): () => void;
  /** From now on new calls are refused; those in flight go on. */
  drain(): void;
  /** Ends the calls in flight: their queries are interrupted. */
  cancelAll(): void;
  /** Ends what never ends by itself. */
  endStreams(): void;
}

/** The surfaces of a service, and the ports that they answer at. */
export interface Surfaces {
  readonly surfaces: readonly Surface[];
  readonly listeners: readonly Listener[];
}

/** All surfaces go on with another state, in one step. */
export async function useEverywhere({ surfaces }: Surfaces, service: Service): Promise<void> {
  const ready = await Promise.all(surfaces.map((surface) => surface.prepare(service)));
  for (const begin of ready) begin();
}

/** For clients that do not read what is left of their answer. */
const UNREAD_MS = 2_000;

/** Calls in flight get the grace, then their queries are interrupted. New ones are refused. */
export async function drainAll({ surfaces, listeners }: Surfaces, graceMs: number): Promise<void> {
  for (const surface of surfaces) surface.drain();
  await ended(
    listeners.map((listener) => listener.close()),
    { surfaces, listeners },
    graceMs,
  );
}

/** The same, while new ones wait: what it gives back lets them go on. */
export async function pauseAll({ surfaces, listeners }: Surfaces, graceMs: number): Promise<() => void> {
  const releases = surfaces.map((surface) => surface.hold());
  for (const surface of surfaces) surface.endStreams();
  await ended(
    listeners.map((listener) => listener.settled()),
    { surfaces, listeners },
    graceMs,
  );
  return () => {
    for (const release of releases) release();
  };
}

async function ended(
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

/** No grace for anybody. */
export function stopAll({ surfaces, listeners }: Surfaces): void {
  for (const surface of surfaces) surface.cancelAll();
  for (const listener of listeners) listener.destroy();
}
