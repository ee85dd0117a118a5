import type { Endpoint, Operation } from "../endpoint/endpoint.ts";
import type { Format } from "../formats/format.ts";
import { formats } from "../formats/index.ts";
import { json } from "../formats/json/json.ts";
import { ndjson } from "../formats/ndjson/ndjson.ts";
import { rowSchema } from "./column-schema.ts";
import type { Components } from "./components.ts";
import { type HeaderName, headerReferences, pageNames, rateLimitNames, readHeaderNames } from "./headers.ts";
import type { JsonObject } from "./json.ts";
import type { RowShape } from "./row-shape.ts";

export interface SuccessInput {
  readonly endpoint: Endpoint;
  readonly rows: RowShape;
  /** The name of the row schema. */
  readonly rowName: string;
}

/** The responses of successful calls, by status. */
export function successResponses(input: SuccessInput, components: Components): JsonObject {
  const { endpoint, rows, rowName } = input;
  const { operation, route } = endpoint;
  const rowOf = (): JsonObject => components.schema(rowName, () => rowSchema(rows, components));
  if (operation.kind === "write") {
    const response = writeResponse(input, rowOf, components);
    // Only POST returns 201. If it changes nothing, it returns 200.
    return operation.statuses.changed === 201
      ? { "200": { ...response, description: "Nothing was changed." }, "201": response }
      : { "200": response };
  }
  const names = readHeaderNames(endpoint);
  const ok = {
    description: operation.returns === "one" ? "The row." : operation.paginated ? "A page of rows." : "The rows.",
    headers: headerReferences(names, components),
    content: Object.fromEntries(
      formats.map((format) => [format.mediaTypes[0], mediaOf(format, operation, rowOf(), components)]),
    ),
  };
  if (route?.method !== "GET") return { "200": ok };
  return { "200": ok, "304": notModifiedResponse(names, components) };
}

function mediaOf(
  format: Format,
  { returns, paginated }: Extract<Operation, { kind: "read" }>,
  row: JsonObject,
  components: Components,
): JsonObject {
  if (format === json) {
    if (returns === "one") return { schema: row };
    const rows = { type: "array", items: row };
    return { schema: paginated ? pageSchema(rows, components) : rows };
  }
  if (format === ndjson) {
    // `itemSchema` only exists since OpenAPI 3.2.
    return { schema: textSchema(format, "One row per line.", components), "x-itemSchema": row };
  }
  const isText = format.contentType.startsWith("text/");
  return {
    schema: isText
      ? textSchema(format, "The first line names the columns.", components)
      : bytesSchema(format, components),
  };
}

function textSchema({ name }: Format, description: string, components: Components): JsonObject {
  return components.schema(`${capitalized(name)}Text`, () => ({ type: "string", description }));
}

/** JSON Schema cannot describe binary formats, but their media type does. */
function bytesSchema({ name, mediaTypes }: Format, components: Components): JsonObject {
  return components.schema(`${capitalized(name)}Bytes`, () => ({
    description: `The bytes of ${capitalized(name)}.`,
    contentMediaType: mediaTypes[0],
  }));
}

function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function pageSchema(rows: JsonObject, components: Components): JsonObject {
  return {
    type: "object",
    required: ["data", "next", "total_count"],
    properties: {
      data: rows,
      next: components.schema("NextPage", () => ({
        type: "string",
        description: "Path and query of the next page; empty on the last one.",
      })),
      total_count: components.schema("TotalCount", () => ({
        type: "integer",
        format: "int64",
        minimum: 0,
        description: "Rows on all pages.",
      })),
    },
  };
}

function notModifiedResponse(names: readonly HeaderName[], components: Components): JsonObject {
  const remaining = names.filter((name) => !pageNames.includes(name));
  const name = [
    "Unchanged",
    ...(remaining.includes("Age") ? ["Cached"] : []),
    ...(remaining.includes("RateLimit") ? ["RateLimited"] : []),
  ];
  return components.response(name.join(""), () => ({
    description: "The response has not changed since the one in `If-None-Match`.",
    headers: headerReferences(remaining, components),
  }));
}

function writeResponse({ endpoint, rows }: SuccessInput, rowOf: () => JsonObject, components: Components): JsonObject {
  const { rateLimit, operation } = endpoint;
  const { returns } = operation;
  const names = ["X-Request-Id" as const, "Cache-Control" as const, ...(rateLimit === undefined ? [] : rateLimitNames)];
  const alwaysHasData = rows.kind === "known" && !rows.sometimesAbsent;
  const rowsAffected = components.schema("RowsAffected", () => ({
    type: "integer",
    format: "int64",
    minimum: 0,
    description: "Number of rows changed.",
  }));
  const schema = {
    type: "object",
    required: ["rows_affected", ...(alwaysHasData ? ["data"] : [])],
    properties: {
      rows_affected: rowsAffected,
      ...(rows.kind === "none" ? {} : { data: returns === "one" ? rowOf() : { type: "array", items: rowOf() } }),
    },
  };
  return {
    description: "The change, committed.",
    headers: headerReferences(names, components),
    content: { [json.mediaTypes[0]]: { schema } },
  };
}
