import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/** What this process holds in JavaScript, strings and buffers outside of the heap included, when nothing is left to collect. */
export async function heldBytes(): Promise<number> {
  for (let last = Number.POSITIVE_INFINITY; ; ) {
    // What holds memory outside of the heap lets go of it in turns of its own.
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
