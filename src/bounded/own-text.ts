/**
 * A copy of a string. In V8, a substring keeps its source in memory, and a joined string both parts. So twenty characters
 * could keep a request body of 4 MB.
 */
export function copyString(text: string): string {
  // V8 always copies shorter strings.
  return text.length < 13 ? text : JSON.parse(JSON.stringify(text));
}

/** The maximum memory of a string: two bytes per character, and a header. */
export function textBytes(text: string): number {
  return text.length * 2 + 24;
}
