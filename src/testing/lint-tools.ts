import type { Location } from "../config/problem.ts";
import type { EndpointConfig } from "../config/project.ts";

/** Advice on a description that a language model reads. */
export interface Hint {
  readonly location: Location;
  readonly message: string;
}

/** A model reads all descriptions of a project with every request. */
const LONGEST_TOOL = 1_024;
const LONGEST_PARAMETER = 300;

/** Looks for descriptions of MCP tools and their parameters that are missing, too long or the same as another. */
export function lintTools(endpoints: readonly EndpointConfig[]): readonly Hint[] {
  const hints: Hint[] = [];
  const owners = new Map<string, string>();
  for (const { mcp, parameters, locate } of endpoints) {
    if (mcp?.kind !== "tool") continue;
    const { name } = mcp;
    const description = mcp.description.trim();
    const add = (path: readonly (string | number)[], message: string): void => {
      hints.push({ location: locate(path), message });
    };
    const at = ["mcp-tool", "description"];
    const owner = owners.get(description.toLowerCase());
    if (description.length > LONGEST_TOOL)
      add(at, tooLong(`the description of the tool '${name}'`, description, LONGEST_TOOL));
    if (description.toLowerCase() === name.toLowerCase())
      add(at, `the description of the tool '${name}' only repeats its name; say what it returns and when to use it`);
    if (owner !== undefined) add(at, `the tool '${name}' has the same description as '${owner}'; say how they differ`);
    owners.set(description.toLowerCase(), owner ?? name);
    lintParameters(name, parameters, add);
  }
  return hints;
}

function lintParameters(
  tool: string,
  parameters: EndpointConfig["parameters"],
  add: (path: readonly (string | number)[], message: string) => void,
): void {
  const owners = new Map<string, string>();
  for (const [index, { name, description = "" }] of parameters.entries()) {
    const text = description.trim();
    const at = ["request", index];
    if (text === "") {
      add(at, `the parameter '${name}' of the tool '${tool}' has no description; models guess its meaning`);
      continue;
    }
    const owner = owners.get(text.toLowerCase());
    if (text.length > LONGEST_PARAMETER)
      add([...at, "description"], tooLong(`the description of the parameter '${name}'`, text, LONGEST_PARAMETER));
    if (owner !== undefined)
      add([...at, "description"], `'${name}' has the same description as '${owner}'; say how they differ`);
    owners.set(text.toLowerCase(), owner ?? name);
  }
}

function tooLong(what: string, text: string, most: number): string {
  return `${what} has ${text.length} characters; at most ${most} are read with attention`;
}
