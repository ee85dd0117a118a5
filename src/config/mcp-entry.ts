import { isLoopback } from "./loopback.ts";
import type { Complain } from "./problem.ts";
import type { EndpointConfig, McpConfig, OperationConfig } from "./project.ts";
import { parsePrompt } from "./prompt-template.ts";
import { reporterOf } from "./reporter.ts";
import { parseResourceName } from "./resource-name.ts";
import type { EndpointInput, Method } from "./schema/endpoint.ts";
import { unknownMessage } from "./suggest.ts";
import type { NodePositions, Report } from "./tree.ts";

/** The settings outside its own block that an entry depends on. */
export interface McpEntryContext {
  readonly method: Method;
  readonly operation: OperationConfig["kind"];
  /** The names of the request fields. Undefined if these have problems. */
  readonly names: readonly string[] | undefined;
}

/** Compiles a tool, resource or prompt. */
export function compileMcpEntry(
  input: EndpointInput,
  { method, operation, names }: McpEntryContext,
  complain: Complain,
): McpConfig | undefined {
  const { "mcp-tool": tool, "mcp-resource": resource, "mcp-prompt": prompt } = input;
  if (tool !== undefined) {
    const { name, description } = tool;
    return { kind: "tool", name, description, mimeType: tool["result-mime-type"], method };
  }
  if (resource !== undefined) {
    const { name, description } = resource;
    checkResource(name, names, complain);
    if (operation === "write") complain(["mcp-resource"], "an mcp-resource cannot write; use mcp-tool");
    return { kind: "resource", name, description, mimeType: resource["mime-type"] };
  }
  if (prompt === undefined) return undefined;
  const { arguments: listed } = prompt;
  listed.forEach((name, index) => {
    if (listed.indexOf(name) < index) complain(["mcp-prompt", "arguments"], `'${name}' is listed twice; keep one`);
  });
  for (const message of parsePrompt(prompt.template, listed).problems) complain(["mcp-prompt", "template"], message);
  return { kind: "prompt", ...prompt };
}

function checkResource(name: string, names: readonly string[] | undefined, complain: Complain): void {
  const path = ["mcp-resource", "name"];
  const parts = parseResourceName(name);
  if (typeof parts === "string") {
    complain(path, parts);
    return;
  }
  for (const part of parts) {
    if (part.kind === "text" || names === undefined || names.includes(part.name)) continue;
    const problem = unknownMessage("placeholder", part.name, names);
    complain(path, names.length === 0 ? `${problem}; declare it under 'request'` : problem);
  }
}

type Entries = readonly { readonly config: EndpointConfig; readonly positions: NodePositions }[];

/** In a flAPI project without an `mcp` block, other machines may use every entry without an `auth` block of its own. */
export function warnAboutOpenEntry(endpoints: Entries, host: string, report: Report): void {
  if (isLoopback(host)) return;
  const open = endpoints.find(({ config: { mcp, auth } }) => mcp !== undefined && auth === undefined);
  if (open?.config.mcp === undefined) return;
  const message = `every client that reaches ${host} can use it over MCP; add mcp.auth or an auth block, or listen on 127.0.0.1`;
  reporterOf(open.positions, report).securityWarning([`mcp-${open.config.mcp.kind}`], message);
}

/** Without an `mcp` block, MCP is not served, which is easily overlooked. */
export function warnAboutUnservedEntries(endpoints: Entries, mainFile: string, report: Report): void {
  const [first, ...others] = endpoints.filter(({ config }) => config.mcp !== undefined);
  if (first?.config.mcp === undefined) return;
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  const message = `not served over MCP${more}: ${mainFile} has no mcp block; add 'mcp: {}' to serve MCP, or 'mcp: {enabled: false}'`;
  reporterOf(first.positions, report).warning([`mcp-${first.config.mcp.kind}`], message);
}
