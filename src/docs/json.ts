/** A part of the document: an object of JSON. */
export interface JsonObject {
  readonly [key: string]: unknown;
}

/** Without undefined values, which YAML would show. */
export function withoutUnset(entries: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined));
}

/** Joins the parts that are present. */
export function joined(parts: readonly (string | undefined)[], separator: string): string | undefined {
  const said = parts.filter((part) => part !== undefined && part !== "");
  return said.length === 0 ? undefined : said.join(separator);
}
