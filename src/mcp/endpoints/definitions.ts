import type { Limits } from "../../config/project.ts";
import { type JsonObject, withoutUnset } from "../../docs/json.ts";
import type { RowShape } from "../../docs/row-shape.ts";
import type { Endpoint } from "../../endpoint/endpoint.ts";
import { sampleLookup, samplesOf } from "../../endpoint/samples.ts";
import type { Engines } from "../../engines/engines.ts";
import type { Sliced } from "../../slices.ts";
import { effectsOf } from "../../sql/classify.ts";
import type { Dialect } from "../../sql/dialect.ts";
import { render } from "../../sql/render.ts";
import type { JsonText, ListKind } from "../mcp-service.ts";
import type { Catalog, Prompt, Resource, Tool } from "./catalog.ts";
import { inputSchema } from "./input-schema.ts";
import { outputSchema } from "./output-schema.ts";

export interface DefinitionContext extends Pick<Engines, "engineOf"> {
  readonly shapes: ReadonlyMap<Endpoint, RowShape>;
  readonly limits: Limits;
}

/** The definitions that clients see, sorted by name. */
export function* listsOf(
  catalog: Catalog,
  context: DefinitionContext,
): Sliced<Readonly<Record<ListKind, readonly JsonText[]>>> {
  const { resources, prompts } = catalog;
  const json = (definition: JsonObject): JsonText => JSON.stringify(withoutUnset(definition));
  const tools: JsonText[] = [];
  for (const tool of catalog.tools.values()) {
    tools.push(json(toolDefinition(tool, context)));
    yield;
  }
  return {
    tools,
    resources: resources
      .filter(({ address }) => address.uri !== undefined)
      .map((each) => json(resourceDefinition(each))),
    templates: resources
      .filter(({ address }) => address.template !== undefined)
      .map((each) => json(templateDefinition(each))),
    prompts: [...prompts.values()].map((prompt) => json(promptDefinition(prompt))),
  };
}

function toolDefinition({ endpoint, mcp, title, result }: Tool, context: DefinitionContext): JsonObject {
  const isStructured = result.kind === "rows" && result.format === "json";
  return {
    name: mcp.name,
    title,
    description: mcp.description,
    inputSchema: inputSchema(endpoint, context.limits),
    outputSchema: isStructured ? outputSchema(endpoint, context.shapes.get(endpoint)) : undefined,
    annotations: annotationsOf(endpoint, mcp.method, context.engineOf(endpoint.connections).dialect),
  };
}

/** The effect of a call, derived from its method and its statements. If in doubt, assumes the worst. */
function annotationsOf(endpoint: Endpoint, method: Tool["mcp"]["method"], dialect: Dialect): JsonObject {
  if (endpoint.operation.kind === "read") {
    return { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
  }
  const isDestructive =
    method === "PUT" || method === "PATCH" || method === "DELETE" || !onlyInserts(endpoint, dialect);
  const isIdempotent = method === "PUT" || method === "DELETE";
  return { readOnlyHint: false, destructiveHint: isDestructive, idempotentHint: isIdempotent, openWorldHint: false };
}

/** Whether the endpoint only inserts, for any parameters. */
function onlyInserts(endpoint: Endpoint, dialect: Dialect): boolean {
  const { template } = endpoint;
  if (template === undefined) return false;
  return samplesOf(endpoint, template).every((sample) => {
    const statements = render(template, sampleLookup(sample), { dialect });
    return effectsOf(
      statements.map(({ sql }) => sql),
      dialect,
    ).every((effect) => effect.kind === "reads" || effect.verb === "INSERT");
  });
}

function resourceDefinition({ mcp, title, address }: Resource): JsonObject {
  return { uri: address.uri, name: mcp.name, title, description: mcp.description, mimeType: mcp.mimeType };
}

function templateDefinition({ mcp, title, address }: Resource): JsonObject {
  return {
    uriTemplate: address.template,
    name: mcp.name,
    title,
    description: mcp.description,
    mimeType: mcp.mimeType,
  };
}

function promptDefinition({ mcp, title }: Prompt): JsonObject {
  return {
    name: mcp.name,
    title,
    description: mcp.description,
    arguments: mcp.arguments.map((name) => ({ name, required: false })),
  };
}
