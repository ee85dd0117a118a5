import type { EndpointConfig } from "./project.ts";
import { errorAt, partLocation, type Report, type Spot } from "./tree.ts";
import { parseUrlPath, shapeOf } from "./url-path.ts";

/** Two endpoints that answer the same request, or two MCP entries of a kind with one name. Reported at the later file. */
export function refuseDuplicates(
  endpoints: readonly { readonly config: EndpointConfig; readonly spot: Spot }[],
  report: Report,
): void {
  const owners = new Map<string, string>();
  for (const { config, spot } of endpoints) {
    const { file, rest, mcp } = config;
    const claim = (key: string, path: readonly string[], what: string) => {
      const owner = owners.get(key);
      if (owner === undefined) owners.set(key, file);
      else
        report(errorAt(partLocation(spot, path), path, `${what} is declared by ${owner} already; change one of them`));
    };
    const urlPath = rest === undefined ? undefined : parseUrlPath(rest.urlPath);
    if (rest !== undefined && typeof urlPath === "object") {
      claim(`${rest.method} ${shapeOf(urlPath)}`, ["url-path"], `${rest.method} ${rest.urlPath}`);
    }
    if (mcp !== undefined)
      claim(`${mcp.kind} ${mcp.name}`, [`mcp-${mcp.kind}`, "name"], `the ${mcp.kind} '${mcp.name}'`);
  }
}
