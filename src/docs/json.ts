/** A JSON object, such as a part of the document. */
export interface JsonObject {
  readonly [key: string]: unknown;
}

/** Removes undefined values, which YAML would show. */
export function withoutUnset(entries: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined));
}

/** Joins the parts that are present. */
export function joinPresent(parts: readonly (string | undefined)[], separator: string): string | undefined {
  const present = parts.filter((part) => part !== undefined && part !== "");
  return present.length === 0 ? undefined : present.join(separator);
}
