/** A parsed `url-path`. */
export interface UrlPath {
  /** Without a trailing slash, except `/` itself. */
  readonly path: string;
  readonly placeholders: readonly string[];
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Paths of the service itself. */
const reserved: readonly string[] = [
  "/health",
  "/health/live",
  "/health/ready",
  "/metrics",
  "/docs",
  "/doc",
  "/doc.yaml",
  "/openapi.json",
  "/openapi.yaml",
  "/auth/token",
  "/mcp",
  "/mcp/jsonrpc",
  "/mcp/health",
  "/.well-known/oauth-protected-resource",
  "/.well-known/oauth-protected-resource/mcp",
];

/** Returns the path, or an error message. */
export function parseUrlPath(written: string): UrlPath | string {
  if (!written.startsWith("/")) return `'${written}' does not start with '/'; write '/${written}'`;
  const path = written.length > 1 && written.endsWith("/") ? written.slice(0, -1) : written;
  if (reserved.includes(path)) return `'${written}' is a reserved path; choose another`;
  const placeholders: string[] = [];
  for (const segment of path === "/" ? [] : path.slice(1).split("/")) {
    const wrong = problemOf(segment);
    if (wrong !== undefined) return `'${written}': ${wrong}`;
    if (!segment.startsWith(":")) continue;
    const name = segment.slice(1);
    if (placeholders.includes(name)) return `'${written}': ':${name}' is there twice; give each its own name`;
    placeholders.push(name);
  }
  return { path, placeholders };
}

/** Paths with the same shape match the same requests, because the names of placeholders do not matter. */
export function shapeOf({ path }: UrlPath): string {
  return path.replaceAll(/:[^/]+/g, ":");
}

function problemOf(segment: string): string | undefined {
  if (segment === "") return "it has an empty segment; write one '/' between segments";
  const braced = /^\{\{?([A-Za-z_][A-Za-z0-9_]*)\}?\}$/.exec(segment)?.[1];
  if (braced !== undefined) return `placeholders take no braces; write ':${braced}' for '${segment}'`;
  if (/[{}]/.test(segment)) return "braces do not belong in a path; a placeholder is a whole segment, ':name'";
  if (segment.includes("*")) return "there are no wildcards; a placeholder is a whole segment, ':name'";
  if (/[?#]/.test(segment)) return "a path holds no '?' and no '#'; declare query parameters under 'request'";
  if (/[\s\\]/u.test(segment)) return "a path holds no blanks and no backslashes";
  if (segment === "." || segment === "..") return "'.' and '..' are resolved by clients before they reach the service";
  if (segment.startsWith(":") && !NAME.test(segment.slice(1))) {
    return `'${segment}' is not a placeholder; write ':name' with letters, digits and underscores`;
  }
  if (!segment.startsWith(":") && segment.includes(":")) return "a placeholder is a whole segment, ':name'";
  return undefined;
}
