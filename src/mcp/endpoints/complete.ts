import type { Parameter } from "../../params/parameter.ts";
import { type Completion, type CompletionRef, McpError } from "../mcp-service.ts";
import type { Catalog } from "./catalog.ts";

const MAX_VALUES = 100;

/** The allowed values of an argument that start with the typed prefix. Only enums and booleans have any. */
export function complete(
  { tools, resources, prompts }: Catalog,
  ref: CompletionRef,
  argument: { readonly name: string; readonly value: string },
): Completion {
  const { name } = argument;
  switch (ref.kind) {
    case "resource": {
      const resource = resources.find(({ address }) => [address.template, address.base, address.uri].includes(ref.uri));
      if (resource === undefined) {
        throw new McpError({ kind: "invalid-params", message: `Resource template not found: ${ref.uri}` });
      }
      return completionOf(allowedValuesOf(resource.endpoint.parameters, name), argument.value);
    }
    case "prompt": {
      const prompt = prompts.get(ref.name);
      if (prompt === undefined) throw new McpError({ kind: "unknown-name", message: `Prompt not found: ${ref.name}` });
      if (!prompt.mcp.arguments.includes(name)) return completionOf([], "");
      // Arguments of a prompt have no validators, so use those of parameters with the same name.
      const parameters = [...tools.values(), ...resources].flatMap(({ endpoint }) => endpoint.parameters);
      return completionOf(allowedValuesOf(parameters, name), argument.value);
    }
  }
}

function allowedValuesOf(parameters: readonly Parameter[], wanted: string): readonly string[] {
  const values = parameters.filter(({ name }) => name === wanted).flatMap(valuesOf);
  return [...new Set(values)];
}

function valuesOf({ validators }: Parameter): readonly string[] {
  const isBoolean = validators.some(({ jsonSchema }) => jsonSchema["type"] === "boolean");
  const list = validators.find(({ allowedValues }) => allowedValues !== undefined)?.allowedValues;
  return (list ?? (isBoolean ? ["true", "false"] : [])).filter((text) =>
    validators.every((validator) => validator.check(text).ok),
  );
}

function completionOf(values: readonly string[], typed: string): Completion {
  const prefix = typed.toLowerCase();
  const found = values.filter((value) => value.toLowerCase().startsWith(prefix));
  return { values: found.slice(0, MAX_VALUES), total: found.length, hasMore: found.length > MAX_VALUES };
}
