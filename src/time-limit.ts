/** Runs `work` once, after `ms` milliseconds. Returns a function that cancels it. */
export type After = (ms: number, work: () => void) => () => void;

const startTimer: After = (ms, work) => {
  const timer = setTimeout(work, ms);
  return () => clearTimeout(timer);
};

/** Settles like `work`, or like `onTimeout` if `work` takes longer than `ms`. Does not stop `work`. */
export async function withTimeLimit<T>(
  work: Promise<T>,
  ms: number,
  onTimeout: () => T | Promise<T>,
  after: After = startTimer,
): Promise<T> {
  let cancel = (): void => {};
  const limit = new Promise<void>((resolve) => {
    cancel = after(ms, resolve);
  });
  try {
    return await Promise.race([work, limit.then(onTimeout)]);
  } finally {
    cancel();
  }
}
