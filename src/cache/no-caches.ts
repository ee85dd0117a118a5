import type { Caches } from "./caches.ts";

/** For a project without caches. */
export const noCaches: Caches = {
  acquire: noCache,
  acquireResult: noCache,
  beginWrite: () => Promise.resolve(() => {}),
  invalidate() {},
  async refreshAfterWrite() {},
  refresh: noCache,
  statuses: () => [],
  async redefine() {},
  collectGarbage: () => Promise.resolve(0),
  start() {},
  async close() {},
};

function noCache(): Promise<never> {
  throw new Error("no endpoint of this project has a cache");
}
