import type { McpConfig } from "../../config/project.ts";
import { type PromptPart, parsePrompt } from "../../config/prompt-template.ts";
import type { Endpoint } from "../../endpoint/endpoint.ts";
import { type ArgumentLocations, argumentLocations } from "./arguments.ts";
import type { CallTarget } from "./attempt.ts";
import {
  openResourceAddresses,
  type ResourceAddress,
  type ResourceAddresses,
  resourceAddress,
} from "./resource-address.ts";
import { type ResultKind, resultKindOf } from "./result-kind.ts";

type ConfigOf<Kind extends McpConfig["kind"]> = Extract<McpConfig, { kind: Kind }>;

interface Entry<Kind extends McpConfig["kind"]> extends CallTarget {
  readonly mcp: ConfigOf<Kind>;
  /** The endpoint's `summary`. */
  readonly title: string | undefined;
}

export interface Tool extends Entry<"tool"> {
  readonly locations: ArgumentLocations;
  readonly result: ResultKind;
}

export interface Resource extends Entry<"resource"> {
  readonly locations: ArgumentLocations;
  readonly result: ResultKind;
  readonly address: ResourceAddress;
}

export interface Prompt extends Entry<"prompt"> {
  readonly parts: readonly PromptPart[];
}

/** Everything that a project offers to agents. Each list is sorted by name. */
export interface Catalog {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly resources: readonly Resource[];
  readonly addresses: ResourceAddresses<Resource>;
  readonly prompts: ReadonlyMap<string, Prompt>;
}

/** The result of a write is always JSON. */
const JSON_ROWS: ResultKind = { kind: "rows", format: "json" };

export interface CatalogSource {
  readonly endpoint: Endpoint;
  readonly summary: string | undefined;
}

export function openCatalog(endpoints: readonly CatalogSource[], uriScheme: string): Catalog {
  const tools: Tool[] = [];
  const resources: Resource[] = [];
  const prompts: Prompt[] = [];
  for (const { endpoint, summary: title } of endpoints) {
    const { mcp } = endpoint;
    if (mcp === undefined) continue;
    const entry = { endpoint, title, label: `mcp-${mcp.kind} ${mcp.name}` };
    switch (mcp.kind) {
      case "tool": {
        const result = endpoint.operation.kind === "write" ? JSON_ROWS : resultKindOf(mcp.mimeType);
        tools.push({ ...entry, mcp, locations: argumentLocations(endpoint), result });
        break;
      }
      case "resource": {
        const address = resourceAddress(mcp.name, endpoint.parameters, uriScheme);
        resources.push({
          ...entry,
          mcp,
          locations: argumentLocations(endpoint),
          result: resultKindOf(mcp.mimeType),
          address,
        });
        break;
      }
      case "prompt":
        prompts.push({ ...entry, mcp, parts: parsePrompt(mcp.template, mcp.arguments).parts });
        break;
    }
  }
  const sorted = resources.toSorted(byName);
  return {
    tools: new Map(tools.toSorted(byName).map((tool) => [tool.mcp.name, tool])),
    resources: sorted,
    addresses: openResourceAddresses(sorted),
    prompts: new Map(prompts.toSorted(byName).map((prompt) => [prompt.mcp.name, prompt])),
  };
}

function byName({ mcp: a }: { readonly mcp: McpConfig }, { mcp: b }: { readonly mcp: McpConfig }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
