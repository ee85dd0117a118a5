/** A string literal. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** An identifier. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
