/**
 * Work whose duration depends on the client's input. At each yield, other work may run; a yielded promise is awaited.
 * Run it with `runAtOnce` or `runInSlices`.
 */
export type Sliced<T> = Generator<Promise<void> | undefined, T, void>;

/** The longest input that is processed at once: the maximum size of a request's headers. */
export const MAX_UNSLICED = 16 * 1024;

const SLICE_MS = 4;

/** Runs the work without interruption. It must not yield a promise. */
export function runAtOnce<T>(work: Sliced<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    if (step.value !== undefined) throw new Error("the work yielded a promise; use runInSlices");
  }
}

/** Runs the work in slices of a few milliseconds. In each iteration of the event loop, only one slice runs. */
export async function runInSlices<T>(work: Sliced<T>): Promise<T> {
  await waitForTurn();
  let end = performance.now() + SLICE_MS;
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    if (step.value !== undefined) await step.value;
    else if (performance.now() < end) continue;
    await waitForTurn();
    end = performance.now() + SLICE_MS;
  }
}

/** Awaits a promise within sliced work. */
export function* waitFor<T>(promise: Promise<T>): Sliced<T> {
  let result: { readonly value: T } | undefined;
  yield promise.then((value) => {
    result = { value };
  });
  // `runInSlices` has awaited the promise by now. A rejection ends the work.
  if (result === undefined) throw new Error("the promise was not awaited");
  return result.value;
}

const waiting: (() => void)[] = [];

/** All sliced work in the process takes turns. Otherwise, many requests together would block the event loop. */
function waitForTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(startNext);
  });
}

function startNext(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(startNext);
}
