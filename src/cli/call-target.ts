import { suggestion } from "../config/suggest.ts";
import type { Endpoint, Route } from "../endpoint/endpoint.ts";
import { buildRouteTable } from "../rest/route-table.ts";
import { UsageError } from "./command.ts";

/** The names and values of a command that calls an endpoint. */
export interface CallArguments {
  /** Upper case. Undefined if the command names none. */
  readonly method: string | undefined;
  /** A path with an optional query, or the name of a tool. */
  readonly name: string;
  readonly values: readonly (readonly [name: string, value: string])[];
  /** Where the whole body comes from: a file, or standard input (`-`). */
  readonly bodySource: string | undefined;
}

export type CallTarget =
  | {
      readonly kind: "route";
      readonly endpoint: Endpoint;
      readonly route: Route;
      /** The path as written, if it contains the values. */
      readonly path: string | undefined;
      readonly pathValues: ReadonlyMap<string, string>;
      /** As in a URL, without the question mark. */
      readonly query: string;
    }
  | { readonly kind: "tool"; readonly endpoint: Endpoint; readonly name: string };

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

export function readCallArguments(command: string, words: readonly string[]): CallArguments {
  const [, method, path] = /^([A-Za-z]+)\s+(\/.*)$/.exec(words[0] ?? "") ?? [];
  const isSeparate = METHODS.some((each) => each === words[0]?.toUpperCase()) && words[1]?.startsWith("/") === true;
  const [first, ...rest] = isSeparate ? words.slice(1) : words;
  const name = path ?? first;
  if (name === undefined) throw new UsageError(`${command}: name an endpoint, such as /customers, or a tool`);
  const values: (readonly [string, string])[] = [];
  let bodySource: string | undefined;
  for (const word of rest) {
    const equals = word.indexOf("=");
    if (word === "-" || word.startsWith("@")) {
      if (bodySource !== undefined) throw new UsageError(`${command}: '${word}' is a second body`);
      bodySource = word === "@-" ? "-" : word.replace(/^@/, "");
    } else if (equals > 0) values.push([word.slice(0, equals), word.slice(equals + 1)]);
    else throw new UsageError(`${command}: expected name=value, found '${word}'`);
  }
  return { method: (isSeparate ? words[0] : method)?.toUpperCase(), name, values, bodySource };
}

/** Finds an endpoint by its path, as in YAML, in OpenAPI or with values, or a tool by its name. Throws a UsageError. */
export function findCallTarget(
  endpoints: readonly Endpoint[],
  { method, name }: Pick<CallArguments, "method" | "name">,
): CallTarget {
  if (!name.startsWith("/")) {
    const tool = endpoints.find(({ mcp }) => mcp?.kind === "tool" && mcp.name === name);
    if (tool !== undefined && method === undefined) return { kind: "tool", endpoint: tool, name };
    throw new UsageError(unknownMessage(name, endpoints));
  }
  const [written = "", ...queries] = name.split("?");
  const query = queries.join("?");
  const pattern = written.replaceAll(/\{(\w+)\}/g, ":$1").replace(/(?<=.)\/$/, "");
  const routes = endpoints.flatMap((endpoint) =>
    endpoint.route === undefined ? [] : ([[endpoint, endpoint.route]] as const),
  );
  const samePath = routes.filter(([, { path }]) => path === pattern);
  const named = samePath.find(([, route]) => route.method === (method ?? "GET"));
  const [endpoint, route] = named ?? (method === undefined && samePath.length === 1 ? samePath[0] : undefined) ?? [];
  if (endpoint !== undefined && route !== undefined) {
    return { kind: "route", endpoint, route, path: undefined, pathValues: new Map(), query };
  }
  if (samePath.length > 0)
    throw new UsageError(
      methodMessage(
        name,
        samePath.map(([, each]) => each.method),
      ),
    );
  return findByValues(endpoints, { method, path: encodePath(written), query }) ?? unknown(name, endpoints);
}

interface WrittenPath {
  readonly method: string | undefined;
  readonly path: string;
  readonly query: string;
}

function findByValues(endpoints: readonly Endpoint[], { method, path, query }: WrittenPath): CallTarget | undefined {
  const table = buildRouteTable(endpoints, {}, undefined);
  for (const each of method === undefined ? METHODS : [method]) {
    const match = table.match(each, path);
    if (match.kind === "other-methods" && method !== undefined)
      throw new UsageError(
        methodMessage(
          path,
          match.allow.filter((name) => METHODS.some((known) => known === name)),
        ),
      );
    if (match.kind !== "endpoint" || match.endpoint.route === undefined) continue;
    const { endpoint, pathParams: pathValues } = match;
    return { kind: "route", endpoint, route: match.endpoint.route, path, pathValues, query };
  }
  return undefined;
}

/** Characters that a request line cannot contain are escaped. */
function encodePath(path: string): string {
  return path.replaceAll(/[^\x21-\x7e]+/g, encodeURIComponent);
}

function methodMessage(path: string, methods: readonly string[]): string {
  const names = methods
    .toSorted()
    .map((method) => `'${method} ${path}'`)
    .join(", ");
  return methods.length === 1
    ? `the method is another: use ${names}`
    : `several endpoints have this path: use one of ${names}`;
}

function unknown(name: string, endpoints: readonly Endpoint[]): never {
  throw new UsageError(unknownMessage(name, endpoints));
}

function unknownMessage(name: string, endpoints: readonly Endpoint[]): string {
  const known = callableNames(endpoints);
  const near = suggestion(name, known);
  const hint =
    near === undefined ? (known.length === 0 ? "" : `; use one of ${list(known)}`) : `; did you mean '${near}'?`;
  return `no endpoint or tool '${name}'${hint}`;
}

const LISTED = 12;

function list(names: readonly string[]): string {
  return names.length <= LISTED ? names.join(", ") : `${names.slice(0, LISTED).join(", ")}, ...`;
}

/** The names by which endpoints can be called: paths and tools. */
function callableNames(endpoints: readonly Endpoint[]): readonly string[] {
  const names = endpoints.flatMap(({ route, mcp }) => [
    ...(route === undefined ? [] : [route.path]),
    ...(mcp?.kind === "tool" ? [mcp.name] : []),
  ]);
  return [...new Set(names)].sort();
}
