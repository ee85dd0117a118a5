import { PlainScalar } from "../params/validators/scalars.ts";
import { isMapping } from "./tree.ts";

/** JSON data. Integers that a double cannot represent are bigints. */
export type JsonValue = string | number | bigint | boolean | null | readonly JsonValue[] | JsonRecord;

export interface JsonRecord {
  readonly [key: string]: JsonValue;
}

/** YAML data as JSON data. */
export function jsonValueOf(data: unknown): JsonValue {
  if (data instanceof PlainScalar) return scalarOf(data);
  if (Array.isArray(data)) return data.map(jsonValueOf);
  if (isMapping(data)) return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, jsonValueOf(value)]));
  return typeof data === "string" ? data : null;
}

function scalarOf({ value, source }: PlainScalar): JsonValue {
  if (typeof value === "bigint") return isSafe(value) ? Number(value) : value;
  if (typeof value === "number" && /^[+-]?\d+$/.test(source) && !Number.isSafeInteger(value)) return BigInt(source);
  return value;
}

function isSafe(value: bigint): boolean {
  return BigInt.asIntN(54, value) === value;
}

export function isRecord(value: JsonValue | undefined): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** JSON text. With an indentation, lists and objects have one line per entry. */
export function jsonText(value: JsonValue, indent = "", from = ""): string {
  if (typeof value !== "object" || value === null)
    return typeof value === "bigint" ? String(value) : JSON.stringify(value);
  const entries = isRecord(value)
    ? Object.entries(value).map(
        ([key, each]) => `${JSON.stringify(key)}:${indent && " "}${jsonText(each, indent, from + indent)}`,
      )
    : value.map((each) => jsonText(each, indent, from + indent));
  const [open, close] = isRecord(value) ? "{}" : "[]";
  if (entries.length === 0 || indent === "") return `${open}${entries.join(",")}${close}`;
  const line = `\n${from}${indent}`;
  return `${open}${line}${entries.join(`,${line}`)}\n${from}${close}`;
}
