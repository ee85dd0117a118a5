import type { Caches } from "./caches.ts";

/** For a project without caches. */
export const noCaches: Caches = {
  acquire: throwNoCache,
  acquireResult: throwNoCache,
  beginWrite: () => Promise.resolve(() => {}),
  invalidate() {},
  async refreshAfterWrite() {},
  refresh: throwNoCache,
  statuses: () => [],
  async redefine() {},
  collectGarbage: () => Promise.resolve(0),
  start() {},
  async close() {},
};

function throwNoCache(): Promise<never> {
  throw new Error("no endpoint of this project has a cache");
}
