import type { Endpoint } from "../endpoint/endpoint.ts";
import type { InProcessRequest } from "../http/in-process.ts";
import { headerName, type Parameter, type RawParams, type RawValue } from "../params/parameter.ts";
import type { CallArguments, CallTarget } from "./call-target.ts";
import { UsageError } from "./command.ts";

type RouteTarget = Extract<CallTarget, { kind: "route" }>;

export interface RequestInput {
  readonly values: CallArguments["values"];
  /** The whole body, if it was given. */
  readonly body: string | undefined;
  readonly format: string | undefined;
}

/** The REST request that calls an endpoint with these values: each goes where the endpoint declares it. */
export function requestFor(target: RouteTarget, { values, body, format }: RequestInput): InProcessRequest {
  const { endpoint, route } = target;
  const takesBody = route.method !== "GET" && endpoint.operation.kind === "write";
  const path = new Map<string, string>();
  const headers: Record<string, string> = {};
  const members = new Map<string, string>();
  const query = new URLSearchParams(target.query);
  for (const [name, value] of values) {
    const location = locationOf(name, endpoint) ?? (takesBody && body === undefined ? "body" : "query");
    if (location === "query") query.append(name, value);
    else if (location === "path") path.set(name, value);
    else if (location === "header") headers[headerName(name)] = headerValue(name, value);
    else if (members.has(name)) throw new UsageError(`'${name}' is given twice`);
    else members.set(name, value);
  }
  if (body !== undefined && members.size > 0)
    throw new UsageError(`'${[...members.keys()][0]}' belongs in the body, which is given as a whole; write it there`);
  if (body !== undefined && route.method === "GET") throw new UsageError("a GET request has no body");
  if (format !== undefined) query.set("format", format);
  const sent = body ?? (members.size > 0 ? JSON.stringify(Object.fromEntries(members)) : undefined);
  if (sent !== undefined) {
    headers["content-type"] = "application/json";
    headers["content-length"] = String(Buffer.byteLength(sent));
  }
  const search = query.size === 0 ? "" : `?${query}`;
  return { method: route.method, target: pathOf(target, path) + search, headers, body: sent };
}

/** The values of a call by parameter, with those in its path. */
export function argumentsFor(target: CallTarget, values: CallArguments["values"]): ReadonlyMap<string, RawValue> {
  const inPath =
    target.kind === "route" ? [...target.pathValues].map(([name, value]) => [name, decodeURIComponent(value)]) : [];
  const inQuery = target.kind === "route" ? [...new URLSearchParams(target.query)] : [];
  return new Map([...inPath, ...inQuery, ...values].map(([name = "", text = ""]) => [name, { kind: "text", text }]));
}

/** The values of a call as its raw parameters, those that are not declared in the query. */
export function rawParamsFor(target: CallTarget, values: CallArguments["values"]): RawParams {
  const { endpoint } = target;
  const raw = { query: new Map<string, RawValue>(), path: new Map(), header: new Map(), body: new Map() };
  for (const [name, value] of argumentsFor(target, values)) {
    const location = locationOf(name, endpoint) ?? "query";
    raw[location].set(location === "header" ? headerName(name) : name, value);
  }
  return raw;
}

function locationOf(name: string, endpoint: Endpoint): Parameter["in"] | undefined {
  const declared = endpoint.parameters.find((parameter) => parameter.name === name);
  if (declared !== undefined) return declared.in;
  return endpoint.route?.segments.some((segment) => segment.kind === "param" && segment.name === name)
    ? "path"
    : undefined;
}

function pathOf({ route, path, pathValues }: RouteTarget, values: ReadonlyMap<string, string>): string {
  if (path !== undefined) {
    const [twice] = values.keys();
    if (twice !== undefined && pathValues.has(twice)) throw new UsageError(`'${twice}' is already in the path`);
    return path;
  }
  const segments = route.segments.map((segment) => {
    if (segment.kind === "text") return encodeURIComponent(segment.text);
    const value = values.get(segment.name);
    if (value === undefined || value === "")
      throw new UsageError(`missing '${segment.name}' in the path; add ${segment.name}=VALUE`);
    return encodeURIComponent(value);
  });
  return `/${segments.join("/")}`;
}

function headerValue(name: string, value: string): string {
  if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
    throw new UsageError(`'${name}' is a header, and cannot contain this value`);
  return value;
}
