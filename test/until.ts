type Found<T> = T | undefined | null | false;

/** So long that only something that will never happen takes longer, however busy the machine is. */
const PATIENCE_MS = 120_000;

/** Waits for a condition that will come true by itself, and says what was awaited when it does not. */
export async function until<T>(what: string, check: () => Found<T> | Promise<Found<T>>): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const found = await check();
    if (found !== undefined && found !== null && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`waited ${PATIENCE_MS} ms in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
