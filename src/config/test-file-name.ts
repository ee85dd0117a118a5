/** Whether a file holds endpoint tests, by its name. */
export function isTestFile(name: string): boolean {
  return /\.test\.ya?ml$/i.test(name);
}
