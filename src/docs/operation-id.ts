import type { Method } from "../config/schema/endpoint.ts";
import type { Route } from "../endpoint/endpoint.ts";

/**
 * A name for each route: `GET /customers/:id` is `getCustomersById`. It depends only on the methods and paths. If
 * routes have the same name, all but the first by path get a number.
 */
export function operationIds(routes: readonly Route[]): readonly string[] {
  const byId = new Map<string, Route[]>();
  for (const route of routes) byId.set(idOf(route), [...(byId.get(idOf(route)) ?? []), route]);
  const ids = new Map<Route, string>();
  for (const [id, same] of byId) {
    const inOrder = same.toSorted((left, right) => (left.path < right.path ? -1 : 1));
    // Other IDs contain no underscores, so this one is unique.
    inOrder.forEach((route, index) => ids.set(route, index === 0 ? id : `${id}_${index + 1}`));
  }
  return routes.map((route) => ids.get(route) ?? idOf(route));
}

function idOf({ method, segments }: { readonly method: Method; readonly segments: Route["segments"] }): string {
  const words = segments.map((segment) =>
    segment.kind === "param" ? `By${pascalCase(segment.name)}` : pascalCase(segment.text),
  );
  return `${method.toLowerCase()}${words.join("") || "Root"}`;
}

function pascalCase(text: string): string {
  return text
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== "")
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
}
