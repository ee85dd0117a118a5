/**
 * The CPU time in ms that some work takes in this process. Unlike wall-clock time, it hardly depends on other load on the
 * machine, so a test can distinguish quadratic from linear time.
 */
export async function cpuMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
