import type { Method } from "../core.ts";
import type { CompletionRef } from "../mcp-service.ts";
import { isObject, type JsonObject, rawMembers } from "../message.ts";
import { stringArguments } from "../params.ts";
import { invalidParams } from "../protocol.ts";

const complete: Method = {
  name: "completion/complete",
  protocols: ["legacy", "modern"],
  async run({ protocol, params, state, text }) {
    const ref = refOf(params["ref"]);
    const { argument, context } = params;
    if (!isObject(argument)) throw invalidParams("Missing required parameter: argument");
    const { name, value } = argument;
    if (typeof name !== "string" || typeof value !== "string") {
      throw invalidParams("Invalid parameter: argument must have a name and a value, both strings");
    }
    const hasContext = isObject(context) && isObject(context["arguments"]);
    const contextArguments = hasContext
      ? stringArguments(rawMembers(text, ["params", "context", "arguments"]))
      : new Map<string, string>();
    const { values, total, hasMore } = await state.service.complete(ref, { name, value }, contextArguments);
    return state.resultBuilder.result(protocol, `"completion":${JSON.stringify({ values, total, hasMore })}`);
  },
};

function refOf(ref: unknown): CompletionRef {
  if (!isObject(ref)) throw invalidParams("Missing required parameter: ref");
  switch (ref["type"]) {
    case "ref/prompt":
      return { kind: "prompt", name: stringIn(ref, "name") };
    case "ref/resource":
      return { kind: "resource", uri: stringIn(ref, "uri") };
  }
  throw invalidParams("Invalid parameter: ref.type must be ref/prompt or ref/resource");
}

function stringIn(ref: JsonObject, name: string): string {
  const value = ref[name];
  if (typeof value === "string") return value;
  throw invalidParams(`Missing required parameter: ref.${name}`);
}

export const completionMethods: readonly Method[] = [complete];
