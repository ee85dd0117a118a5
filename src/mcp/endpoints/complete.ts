import type { Parameter } from "../../params/parameter.ts";
import { type Completion, type CompletionRef, McpError } from "../mcp-service.ts";
import type { Catalog } from "./catalog.ts";

const MOST = 100;

/** The values that an argument may have, as far as a list says, that begin with what has been typed. */
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
      return matching(listed(resource.endpoint.parameters, name), argument.value);
    }
    case "prompt": {
      const prompt = prompts.get(ref.name);
      if (prompt === undefined) throw new McpError({ kind: "unknown-name", message: `Prompt not found: ${ref.name}` });
      if (!prompt.mcp.arguments.includes(name)) return matching([], "");
      // An argument has no rules of its own: it probably means what a parameter of its name means.
      const parameters = [...tools.values(), ...resources].flatMap(({ endpoint }) => endpoint.parameters);
      return matching(listed(parameters, name), argument.value);
    }
  }
}

function listed(parameters: readonly Parameter[], wanted: string): readonly string[] {
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

function matching(values: readonly string[], typed: string): Completion {
  const prefix = typed.toLowerCase();
  const found = values.filter((value) => value.toLowerCase().startsWith(prefix));
  return { values: found.slice(0, MOST), total: found.length, hasMore: found.length > MOST };
}
