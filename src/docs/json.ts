/** A part of the document: an object of JSON. */
export interface JsonObject {
  readonly [key: string]: unknown;
}

/** Without what is not set, so that neither JSON nor YAML shows it. */
export function withoutUnset(entries: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined));
}

/** Sentences and paragraphs that are there, one after the other. */
export function joined(parts: readonly (string | undefined)[], separator: string): string | undefined {
  const said = parts.filter((part) => part !== undefined && part !== "");
  return said.length === 0 ? undefined : said.join(separator);
}
