import type { RawValue } from "../params/parameter.ts";
import type { McpRequest } from "./core.ts";
import { isObject, rawMembers } from "./message.ts";
import { invalidParams } from "./protocol.ts";

/** A text that a method cannot do without. */
export function requiredText({ params }: Pick<McpRequest, "params">, name: string): string {
  const value = params[name];
  if (value === undefined || value === null) throw invalidParams(`Missing required parameter: ${name}`);
  if (typeof value !== "string") throw invalidParams(`Invalid parameter: ${name} must be a text`);
  return value;
}

const NO_ARGUMENTS: ReadonlyMap<string, RawValue> = new Map();

/** The arguments of a tool or a prompt, with every digit of theirs. */
export function argumentsOf({ params, text }: Pick<McpRequest, "params" | "text">): ReadonlyMap<string, RawValue> {
  const { arguments: given } = params;
  if (given === undefined || given === null) return NO_ARGUMENTS;
  if (!isObject(given)) throw invalidParams("Invalid parameter: arguments must be an object");
  return rawMembers(text, ["params", "arguments"]);
}

/** The same, where every argument is a text. */
export function texts(values: ReadonlyMap<string, RawValue>): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [name, { text }] of values) found.set(name, text);
  return found;
}
