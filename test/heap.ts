import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/** Memory of JavaScript values in this process after garbage collection, including strings and buffers outside the heap. */
export async function measureMemory(): Promise<number> {
  for (let last = Number.POSITIVE_INFINITY; ; ) {
    // Memory outside the heap is released asynchronously, after the collection.
    for (let turn = 0; turn < 2; turn++) {
      collectGarbage();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const { heapUsed, external } = process.memoryUsage();
    const held = heapUsed + external;
    if (last - held < 100_000) return held;
    last = held;
  }
}
