import { runAtOnce, type Sliced } from "../slices.ts";
import type { RawValue } from "./parameter.ts";
import { decodeString, type JsonKind, scanJson } from "./scan-json.ts";

/** Limits the members to read: all in `wanted`, and others until `others` members are read. */
export interface MemberLimits {
  readonly wanted: ReadonlySet<string>;
  readonly maxOthers: number;
}

/**
 * Reads the members of a JSON object, and returns the kind of JSON. Undefined if the text is not JSON. If a name
 * is repeated, the last value wins, as with `JSON.parse`. `null` counts as absent.
 */
export function* readMembers(
  text: string,
  into: Map<string, RawValue>,
  limits?: MemberLimits,
): Sliced<JsonKind | undefined> {
  const found = new Map<string, string>();
  const kind = yield* scanJson(text, (start, end, name) => {
    if (name === undefined) return;
    const isKept = limits === undefined || found.size < limits.maxOthers || found.has(name) || limits.wanted.has(name);
    if (isKept) found.set(name, text.slice(start, end));
  });
  if (kind !== "object") return kind;
  for (const [name, json] of found) {
    const value = yield* readValue(json);
    if (value !== undefined) into.set(name, value);
  }
  return kind;
}

/** The same for a short JSON object. */
export function membersOf(text: string): ReadonlyMap<string, RawValue> {
  const members = new Map<string, RawValue>();
  runAtOnce(readMembers(text, members));
  return members;
}

/** Undefined for `null`. */
function* readValue(json: string): Sliced<RawValue | undefined> {
  switch (json.charAt(0)) {
    case '"':
      return { kind: "text", text: yield* decodeString(json) };
    case "{":
    case "[":
      return { kind: "json", text: json };
    default:
      return json === "null" ? undefined : { kind: "text", text: json };
  }
}
