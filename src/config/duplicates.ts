import type { AuthPolicy } from "../auth/policy.ts";
import type { Locate } from "./problem.ts";
import type { EndpointConfig, McpConfig } from "./project.ts";
import { parseResourceName, shapeOfResource } from "./resource-name.ts";
import { errorAt, type NodePositions, partLocation, type Report } from "./tree.ts";
import { parseUrlPath, shapeOf } from "./url-path.ts";

/** Rejects different secrets in the same table, because they would overwrite each other. */
export function rejectSharedSecretTables(
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

/** Resource names that differ only in the names of placeholders have the same URIs. */
function uniqueName({ kind, name }: McpConfig): string {
  const parts = kind === "resource" ? parseResourceName(name) : name;
  return typeof parts === "string" ? name : shapeOfResource(parts);
}

/** Rejects equal routes, and equal names of MCP entries of the same kind. Reported at the later file. */
export function rejectDuplicates(
  endpoints: readonly { readonly config: EndpointConfig; readonly positions: NodePositions }[],
  report: Report,
): void {
  const owners = new Map<string, string>();
  for (const { config, positions } of endpoints) {
    const { file, rest, mcp } = config;
    const claim = (key: string, path: readonly string[], what: string) => {
      const owner = owners.get(key);
      if (owner === undefined) owners.set(key, file);
      else
        report(
          errorAt(partLocation(positions, path), path, `${what} is declared by ${owner} already; change one of them`),
        );
    };
    const urlPath = rest === undefined ? undefined : parseUrlPath(rest.urlPath);
    if (rest !== undefined && typeof urlPath === "object") {
      claim(`${rest.method} ${shapeOf(urlPath)}`, ["url-path"], `${rest.method} ${rest.urlPath}`);
    }
    if (mcp !== undefined) {
      claim(`${mcp.kind} ${uniqueName(mcp)}`, [`mcp-${mcp.kind}`, "name"], `the ${mcp.kind} '${mcp.name}'`);
    }
  }
}
