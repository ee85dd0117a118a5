/** What a path of the MCP server serves. */
export type PathKind = "endpoint" | "health" | "metadata";

/** The path of the protected resource metadata (RFC 9728). */
const METADATA = "/.well-known/oauth-protected-resource";

const mcpPaths: ReadonlyMap<string, PathKind> = new Map([
  ["/mcp", "endpoint"],
  ["/mcp/jsonrpc", "endpoint"],
  ["/mcp/health", "health"],
  [METADATA, "metadata"],
  [`${METADATA}/mcp`, "metadata"],
]);

/** Whether a path belongs to MCP on a listener that also serves REST. */
export function isMcpPath(path: string): boolean {
  return mcpPaths.has(withoutSlash(path));
}

export function pathKind(path: string): PathKind | undefined {
  return path === "/" ? "endpoint" : mcpPaths.get(withoutSlash(path));
}

function withoutSlash(path: string): string {
  return path.endsWith("/") ? path.slice(0, -1) : path;
}

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/** The path of a request target, without its query. Proxies may send the target in absolute form. */
export function pathOf(url = "/"): string {
  const target = url.startsWith("/") ? url : url.replace(ORIGIN, "");
  const queryStart = target.indexOf("?");
  return (queryStart < 0 ? target : target.slice(0, queryStart)) || "/";
}
