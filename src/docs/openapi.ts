import type { EndpointConfig, MainConfig } from "../config/project.ts";
import type { Endpoint, Route } from "../endpoint/endpoint.ts";
import { type Components, openComponents } from "./components.ts";
import { failureResponses } from "./failure-responses.ts";
import { type JsonObject, joinPresent, withoutUnset } from "./json.ts";
import { notesOf } from "./notes.ts";
import { operationIds } from "./operation-id.ts";
import { parametersOf, requestBodyOf } from "./parameters.ts";
import { type RowShape, UNKNOWN_ROWS } from "./row-shape.ts";
import { issuersOf, securityOf } from "./security.ts";
import { successResponses } from "./success-responses.ts";

/** One endpoint, with its documentation and its rows. */
export interface DocumentedEndpoint {
  readonly endpoint: Endpoint;
  readonly documentation: Pick<EndpointConfig, "summary" | "description" | "tags" | "deprecated">;
  /** From `describeEndpoints`. Undefined if not known yet. */
  readonly rows: RowShape | undefined;
}

export interface DocumentInput {
  readonly main: Pick<MainConfig, "name" | "description" | "version" | "limits" | "access">;
  readonly endpoints: readonly DocumentedEndpoint[];
  /** URLs of the service, starting with the one that the client uses. */
  readonly servers: readonly string[];
}

interface RoutedEndpoint extends DocumentedEndpoint {
  readonly route: Route;
}

/** The OpenAPI 3.1 document of a project. It does not depend on the order of the files. */
export function openApiDocument({ main, endpoints, servers }: DocumentInput): JsonObject {
  const components = openComponents();
  const routed = endpoints.flatMap(({ endpoint, ...rest }): RoutedEndpoint[] =>
    endpoint.route === undefined ? [] : [{ endpoint, ...rest, route: endpoint.route }],
  );
  const inOrder = routed.toSorted((left, right) => rankOf(left.route) - rankOf(right.route) || byPath(left, right));
  const ids = operationIds(inOrder.map(({ route }) => route));
  const issuers = issuersOf(inOrder.map(({ endpoint }) => endpoint.auth));
  const paths = pathsOf(inOrder.map(({ route }) => route));
  const items = new Map<string, Record<string, JsonObject>>();
  for (const [index, documented] of inOrder.entries()) {
    const { path, placeholders } = paths[index] ?? { path: "/", placeholders: [] };
    const context = { main, components, issuers, placeholders, id: ids[index] ?? "" };
    const item = items.get(path) ?? {};
    item[documented.route.method.toLowerCase()] = operationOf(documented, context);
    items.set(path, item);
  }
  return withoutUnset({
    openapi: "3.1.0",
    info: withoutUnset({
      title: main.name,
      description: main.description === "" ? undefined : main.description,
      version: main.version,
    }),
    servers: servers.map((url) => ({ url })),
    // Operations without `security` are public.
    security: [],
    paths: Object.fromEntries([...items].sort(([left], [right]) => (left < right ? -1 : 1))),
    components: components.all(),
  });
}

const METHODS: readonly string[] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

function rankOf({ method }: Route): number {
  return METHODS.indexOf(method);
}

function byPath(left: RoutedEndpoint, right: RoutedEndpoint): number {
  return left.route.path < right.route.path ? -1 : 1;
}

interface DocumentPath {
  readonly path: string;
  readonly placeholders: readonly string[];
}

/**
 * The path of each route, with its placeholders in braces. `GET /a/:id` and `POST /a/:name` are the same path in OpenAPI, so
 * both use the placeholder names of the first route. Requests do not contain these names.
 */
function pathsOf(routes: readonly Route[]): readonly DocumentPath[] {
  const known = new Map<string, DocumentPath>();
  return routes.map(({ segments }) => {
    const shape = segments.map((segment) => (segment.kind === "param" ? ":" : segment.text)).join("/");
    const found = known.get(shape) ?? {
      path: `/${segments.map((segment) => (segment.kind === "param" ? `{${segment.name}}` : encodeURI(segment.text))).join("/")}`,
      placeholders: segments.flatMap((segment) => (segment.kind === "param" ? segment.name : [])),
    };
    known.set(shape, found);
    return found;
  });
}

interface OperationContext {
  readonly main: DocumentInput["main"];
  readonly components: Components;
  readonly issuers: readonly string[];
  readonly placeholders: readonly string[];
  readonly id: string;
}

function operationOf({ endpoint, documentation, route, rows }: RoutedEndpoint, context: OperationContext): JsonObject {
  const { main, components, issuers, placeholders, id } = context;
  const { limits, access } = main;
  const { https } = access;
  const name = id.charAt(0).toUpperCase() + id.slice(1);
  const notes = notesOf(endpoint);
  const parameters = parametersOf(endpoint, { components, limits, placeholders });
  return withoutUnset({
    operationId: id,
    summary: documentation.summary ?? firstLine(documentation.description) ?? `${route.method} ${route.path}`,
    description: joinPresent([documentation.description, notes.sentences.join(" ")], "\n\n"),
    tags: documentation.tags.length === 0 ? undefined : documentation.tags,
    deprecated: documentation.deprecated || undefined,
    security: securityOf(endpoint.auth, issuers, components),
    parameters: parameters.length === 0 ? undefined : parameters,
    requestBody: requestBodyOf(endpoint, `${name}Body`, components),
    responses: {
      ...successResponses({ endpoint, rows: rows ?? UNKNOWN_ROWS, rowName: `${name}Row` }, components),
      ...failureResponses(endpoint, {
        components,
        maxBodyBytes: limits.maxBodyBytes,
        refusesPlainHttp: https !== undefined && https.tls === undefined,
      }),
    },
    ...notes.extensions,
    // The schema alone does not show this, because a row may look like an envelope.
    ...(endpoint.operation.returns === "one"
      ? { "x-eider-operation": endpoint.operation.kind, "x-eider-returns": "one" }
      : {}),
  });
}

const MAX_SUMMARY_LENGTH = 120;

/** A short first line of the description is also a summary. */
function firstLine(description: string | undefined): string | undefined {
  const line = description?.trim().split("\n")[0]?.trim() ?? "";
  return line === "" || line.length > MAX_SUMMARY_LENGTH ? undefined : line;
}
