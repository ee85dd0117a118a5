import type { AuthPolicy } from "../auth/policy.ts";
import type { Locate } from "./problem.ts";
import type { EndpointConfig, McpConfig } from "./project.ts";
import { parseResourceName, shapeOfResource } from "./resource-name.ts";
import { errorAt, partLocation, type Report, type Spot } from "./tree.ts";
import { parseUrlPath, shapeOf } from "./url-path.ts";

/** Two secrets in one table would overwrite each other. */
export function rejectSharedTables(
  blocks: readonly { readonly auth: AuthPolicy | undefined; readonly locate: Locate }[],
  report: Report,
): void {
  const owners = new Map<string, string>();
  for (const { auth, locate } of blocks) {
    if (auth?.kind !== "basic" || auth.secretUsers === undefined) continue;
    const { table } = auth.secretUsers;
    const settings = JSON.stringify(auth.secretUsers);
    const owner = owners.get(table.toLowerCase());
    owners.set(table.toLowerCase(), owner ?? settings);
    if (owner === undefined || owner === settings) continue;
    const path = ["auth", "from-aws-secretmanager", "secret-table"];
    report(errorAt(locate(path), path, `another secret is put into the table '${table}' already; name another`));
  }
}

/** Two resources whose placeholders differ only in name have one address. */
function addressOf({ kind, name }: McpConfig): string {
  const parts = kind === "resource" ? parseResourceName(name) : name;
  return typeof parts === "string" ? name : shapeOfResource(parts);
}

/** Two endpoints with the same route, or two MCP entries of a kind with one name. Reported at the later file. */
export function rejectDuplicates(
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
    if (mcp !== undefined) {
      claim(`${mcp.kind} ${addressOf(mcp)}`, [`mcp-${mcp.kind}`, "name"], `the ${mcp.kind} '${mcp.name}'`);
    }
  }
}
