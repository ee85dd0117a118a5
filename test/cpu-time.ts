/**
 * The CPU time in ms that some work takes in this process. Unlike the time on a clock it hardly depends on what else the
 * machine does, so that a test can tell work that grows with the square of its input from work that does not.
 */
export async function cpuMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
