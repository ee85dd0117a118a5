import type { Endpoint } from "../endpoint/endpoint.ts";
import type { CorsPolicy } from "../http/cors.ts";
import type { BuiltInRoute, BuiltInRoutes } from "./built-in-route.ts";
import { headersOf } from "./read-params/read-headers.ts";
import { type CachingRules, cachingRules } from "./response/headers.ts";

/** An endpoint that matches a request. */
export interface EndpointMatch extends EndpointRoute {
  /** As in the URL, not yet decoded. */
  readonly pathParams: ReadonlyMap<string, string>;
}

/** The route of a request. */
export type Match =
  | { readonly kind: "built-in"; readonly route: BuiltInRoute }
  | ({ readonly kind: "endpoint" } & EndpointMatch)
  /** The path is known, the method is not. */
  | { readonly kind: "other-methods"; readonly allow: readonly string[] }
  | { readonly kind: "none" };

export interface RouteTable {
  match(method: string, path: string): Match;
}

interface Node {
  readonly fixed: Map<string, Node>;
  param: Node | undefined;
  readonly endpoints: Map<string, EndpointRoute>;
}

interface EndpointRoute {
  readonly endpoint: Endpoint;
  /** Names of the headers that the endpoint reads, in lower case. */
  readonly headers: readonly string[];
  readonly caching: CachingRules;
}

const newNode = (): Node => ({ fixed: new Map(), param: undefined, endpoints: new Map() });

/**
 * Built-in routes take precedence over endpoints. In the path of an endpoint, a fixed segment takes precedence over a
 * parameter, and a trailing slash is ignored.
 */
export function buildRouteTable(
  endpoints: readonly Endpoint[],
  builtIn: BuiltInRoutes,
  cors: CorsPolicy | undefined,
): RouteTable {
  const root = newNode();
  const builtInRoutes = new Map(Object.entries(builtIn));
  const prefixRoutes = [...builtInRoutes].flatMap(([path, route]) =>
    path.endsWith("*") ? [{ prefix: path.slice(0, -1), route }] : [],
  );
  for (const endpoint of endpoints) {
    const headers = headersOf(endpoint.parameters);
    if (endpoint.route !== undefined) add(root, { endpoint, headers, caching: cachingRules(endpoint, cors) });
  }
  return {
    match(method, path) {
      const route = builtInRoutes.get(path) ?? prefixRoutes.find(({ prefix }) => path.startsWith(prefix))?.route;
      if (route !== undefined) {
        return route.methods.includes(method)
          ? { kind: "built-in", route }
          : { kind: "other-methods", allow: withHeadAndOptions(route.methods) };
      }
      const segments = path.split("/").slice(1);
      if (segments.at(-1) === "") segments.pop();
      const methods = new Set<string>();
      const values: string[] = [];
      const found = find(root, segments, 0, method, values, methods);
      if (found !== undefined) return { kind: "endpoint", ...found, pathParams: nameValues(found.endpoint, values) };
      return methods.size > 0 ? { kind: "other-methods", allow: withHeadAndOptions([...methods]) } : { kind: "none" };
    },
  };
}

function withHeadAndOptions(methods: readonly string[]): readonly string[] {
  return [...methods, ...(methods.includes("GET") ? ["HEAD"] : []), "OPTIONS"];
}

function add(root: Node, endpointRoute: EndpointRoute): void {
  let node = root;
  const { route } = endpointRoute.endpoint;
  for (const segment of route?.segments ?? []) {
    if (segment.kind === "param") {
      node.param ??= newNode();
      node = node.param;
    } else {
      let next = node.fixed.get(segment.text);
      if (next === undefined) {
        next = newNode();
        node.fixed.set(segment.text, next);
      }
      node = next;
    }
  }
  if (route !== undefined) node.endpoints.set(route.method, endpointRoute);
}

function find(
  node: Node,
  segments: readonly string[],
  at: number,
  method: string,
  values: string[],
  methods: Set<string>,
): EndpointRoute | undefined {
  const segment = segments[at];
  if (segment === undefined) {
    const found = node.endpoints.get(method);
    if (found === undefined) for (const known of node.endpoints.keys()) methods.add(known);
    return found;
  }
  const child = node.fixed.get(segment.includes("%") ? decodeSegment(segment) : segment);
  if (child !== undefined) {
    const found = find(child, segments, at + 1, method, values, methods);
    if (found !== undefined) return found;
  }
  if (node.param === undefined || segment === "") return undefined;
  values.push(segment);
  const found = find(node.param, segments, at + 1, method, values, methods);
  if (found === undefined) values.pop();
  return found;
}

/** A segment that cannot be decoded matches no fixed segment. */
function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return "";
  }
}

function nameValues(endpoint: Endpoint, values: readonly string[]): ReadonlyMap<string, string> {
  const named = new Map<string, string>();
  for (const segment of endpoint.route?.segments ?? []) {
    if (segment.kind === "param") named.set(segment.name, values[named.size] ?? "");
  }
  return named;
}
