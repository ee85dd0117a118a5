type Found<T> = T | undefined | null | false;

/** So long that even on a busy machine, only a condition that never becomes true takes longer. */
const TIMEOUT_MS = 120_000;

/** Waits until `check` returns a value. Throws an error that contains `what` if it never does. */
export async function until<T>(what: string, check: () => Found<T> | Promise<Found<T>>): Promise<T> {
  const deadline = performance.now() + TIMEOUT_MS;
  for (;;) {
    const found = await check();
    if (found !== undefined && found !== null && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`waited ${TIMEOUT_MS} ms in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
