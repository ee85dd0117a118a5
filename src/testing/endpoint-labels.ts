import type { Endpoint } from "../endpoint/endpoint.ts";

/** The names under which the calls of an endpoint are observed. */
export function labelsOf({ name, mcp }: Endpoint): readonly string[] {
  return mcp === undefined ? [name] : [name, `mcp-${mcp.kind} ${mcp.name}`];
}
