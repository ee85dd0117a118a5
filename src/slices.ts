/**
 * Work whose length a client decides. Where it yields, the event loop may run; a promise that it yields is awaited.
 * It runs at once, or in slices.
 */
export type Sliced<T> = Generator<Promise<void> | undefined, T, void>;

/** The longest input that is processed at once: what the headers of a request can hold. */
export const SHORT = 16 * 1024;

const SLICE_MS = 4;

/** Runs it to its end at once. It must not yield a promise. */
export function atOnce<T>(work: Sliced<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    if (step.value !== undefined) throw new Error("this work waits for something");
  }
}

/** Runs it a few milliseconds at a time, one such piece of work at each turn of the event loop. */
export async function inSlices<T>(work: Sliced<T>): Promise<T> {
  await turn();
  let end = performance.now() + SLICE_MS;
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    if (step.value !== undefined) await step.value;
    else if (performance.now() < end) continue;
    await turn();
    end = performance.now() + SLICE_MS;
  }
}

/** Awaits a promise within sliced work. */
export function* waitFor<T>(promise: Promise<T>): Sliced<T> {
  let result: { readonly value: T } | undefined;
  yield promise.then((value) => {
    result = { value };
  });
  // `inSlices` has awaited it by now; a rejection ends the work.
  if (result === undefined) throw new Error("this work was not waited for");
  return result.value;
}

const waiting: (() => void)[] = [];

/** All long work of the process takes turns: otherwise many requests together would block the event loop. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(next);
  });
}

function next(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(next);
}
