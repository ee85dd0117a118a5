import type { McpRequest } from "./core.ts";
import { type Arguments, isObject, rawMembers } from "./message.ts";
import { invalidParams } from "./protocol.ts";

/** A required string parameter of a method. */
export function requiredString({ params }: Pick<McpRequest, "params">, name: string): string {
  const value = params[name];
  if (value === undefined || value === null) throw invalidParams(`Missing required parameter: ${name}`);
  if (typeof value !== "string") throw invalidParams(`Invalid parameter: ${name} must be a string`);
  return value;
}

const NO_ARGUMENTS: Arguments = new Map();

/** The arguments of a tool or prompt. Numbers keep every digit. */
export function argumentsOf({
  params,
  text,
  longArguments,
}: Pick<McpRequest, "params" | "text" | "longArguments">): Arguments {
  const { arguments: given } = params;
  if (longArguments !== undefined) return longArguments;
  if (given === undefined || given === null) return NO_ARGUMENTS;
  if (!isObject(given)) throw invalidParams("Invalid parameter: arguments must be an object");
  return rawMembers(text, ["params", "arguments"]);
}

/** Arguments as strings, for prompts and completions. */
export function stringArguments(values: Arguments): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [name, { text }] of values) found.set(name, text);
  return found;
}
