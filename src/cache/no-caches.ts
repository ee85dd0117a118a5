import type { Caches } from "./caches.ts";

/** Of a project that keeps nothing. */
export const noCaches: Caches = {
  acquire: nobodyAsks,
  acquireResult: nobodyAsks,
  invalidate() {},
  async refreshAfterWrite() {},
  refresh: nobodyAsks,
  statuses: () => [],
  async redefine() {},
  collect: () => Promise.resolve(0),
  start() {},
  async close() {},
};

function nobodyAsks(): Promise<never> {
  throw new Error("no endpoint of this project has a cache");
}
