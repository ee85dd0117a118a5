/** An object out of JSON from another system: nothing is known of its members. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Undefined when it is not JSON, or not an object. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A member of the object itself: `constructor` and its like are not claims. `null` counts as absent. */
export function member(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? (object[name] ?? undefined) : undefined;
}

/** The member when it is text that says something. */
export function textMember(object: JsonObject, name: string): string | undefined {
  const value = member(object, name);
  return typeof value === "string" && value !== "" ? value : undefined;
}
