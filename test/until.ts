type Found<T> = T | undefined | null | false;

/** Waits for a condition that will come true by itself, and says what was awaited when it does not. */
export async function until<T>(what: string, check: () => Found<T> | Promise<Found<T>>, withinMs = 30_000): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const found = await check();
    if (found !== undefined && found !== null && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`waited ${withinMs} ms in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
