/**
 * A copy of a string. V8 keeps the whole text alive that a substring was cut from, and both parts of one that was joined:
 * twenty characters of a request body of 4 MB would hold all of it.
 */
export function ownText(text: string): string {
  // Shorter ones are never parts of others.
  return text.length < 13 ? text : JSON.parse(JSON.stringify(text));
}

/** What a string takes at most: two bytes per character, and its header. */
export function textBytes(text: string): number {
  return text.length * 2 + 24;
}
