/** Runs work once, after so many milliseconds. Returns a function that cancels it. */
export type After = (ms: number, work: () => void) => () => void;

const startTimer: After = (ms, work) => {
  const timer = setTimeout(work, ms);
  return () => clearTimeout(timer);
};

/** Settles as `work` does or, when that takes longer than `ms`, as `late` says. It does not stop `work`. */
export async function withTimeLimit<T>(
  work: Promise<T>,
  ms: number,
  late: () => T | Promise<T>,
  after: After = startTimer,
): Promise<T> {
  let cancel = (): void => {};
  const limit = new Promise<void>((resolve) => {
    cancel = after(ms, resolve);
  });
  try {
    return await Promise.race([work, limit.then(late)]);
  } finally {
    cancel();
  }
}
