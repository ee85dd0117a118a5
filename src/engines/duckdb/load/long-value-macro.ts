/**
 * `repeat` as every connection has it: DuckDB's own makes any number of bytes of two, in one piece that its memory limit does
 * not count. What would be longer than a value may be is refused before it is made. Undefined: any length will do.
 */
export function longValueMacro(maxValueBytes: number): string | undefined {
  if (!Number.isFinite(maxValueBytes)) return undefined;
  const message = `repeat() would make a value of more than limits.max-value-bytes (${maxValueBytes}); make less of it, or raise the limit`;
  // The length of a text is that of its bytes; lists and BLOBs are measured by their text.
  const length = "strlen(CAST(x AS VARCHAR)) * CAST(n AS DOUBLE)";
  return `CREATE OR REPLACE TEMP MACRO repeat(x, n) AS CASE WHEN ${length} > ${maxValueBytes} THEN error('${message}') ELSE system.main.repeat(x, n) END`;
}
