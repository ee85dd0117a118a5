import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

/** Counts full collections while buffers come and go, each of which lives for a while: first as usual, then during a long read. */
const SCRIPT = `
import { constants, PerformanceObserver } from "node:perf_hooks";
import { beginLongRead, controlHeapGrowth } from "./dist/engines/heap-growth.js";
let collections = 0;
new PerformanceObserver((list) => {
  for (const { detail } of list.getEntries()) if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) collections++;
}).observe({ entryTypes: ["gc"] });
const heap = Array.from({ length: 100_000 }, (_, index) => ({ index, list: [index] }));
const living = [];
async function useBuffers() {
  const before = collections;
  for (let index = 0; index < 4000; index++) {
    living[index % 100] = { buffer: new Uint8Array(100_000), objects: Array.from({ length: 200 }, () => ({})) };
    if (index % 10 === 0) await new Promise(setImmediate);
  }
  return collections - before;
}
controlHeapGrowth();
const usual = await useBuffers();
beginLongRead();
const longRead = await useBuffers();
console.log(JSON.stringify({ usual, longRead, heap: heap.length }));
`;

test("the heap grows further during long reads than otherwise", async () => {
  const cwd = join(import.meta.dirname, "../..");
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", SCRIPT], { cwd });
  const { usual, longRead } = JSON.parse(stdout) as { readonly usual: number; readonly longRead: number };
  expect(usual).toBeGreaterThan(2);
  expect(longRead).toBeLessThanOrEqual(1);
});
