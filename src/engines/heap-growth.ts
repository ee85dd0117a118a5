import { setFlagsFromString } from "node:v8";

/** How far the heap may grow between two full collections, in percent. See docs/decisions/0008-heap-growth.md. */
const USUAL_PERCENT = 50;
const LONG_READ_PERCENT = 400;

let isControlled = false;
let longReads = 0;

/** Lets Eider control how the heap of this process grows. Not for programs that only use parts of Eider. */
export function controlHeapGrowth(): void {
  isControlled = true;
  allowGrowth(USUAL_PERCENT);
}

/** Call it when a read turns out to be long. Call the returned function when the read has ended; more calls have no effect. */
export function beginLongRead(): () => void {
  let hasEnded = false;
  if (longReads++ === 0) allowGrowth(LONG_READ_PERCENT);
  return () => {
    if (hasEnded) return;
    hasEnded = true;
    if (--longReads === 0) allowGrowth(USUAL_PERCENT);
  };
}

function allowGrowth(percent: number): void {
  if (isControlled) setFlagsFromString(`--heap-growing-percent=${percent}`);
}
