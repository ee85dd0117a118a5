/**
 * Whether DuckDB has given a database up, its own or an attached one: it could not finish what it had begun, most often a
 * checkpoint on a full disk. What was committed is safe, but nothing is answered until the file has been opened anew.
 */
export function isLost(message: string): boolean {
  return /^FATAL Error: |^IO Error: Database "[^"]*" has been invalidated/.test(message);
}
