import type { Endpoint, Operation } from "../endpoint/endpoint.ts";
import type { Format } from "../formats/format.ts";
import { formats } from "../formats/index.ts";
import { json } from "../formats/json/json.ts";
import { ndjson } from "../formats/ndjson/ndjson.ts";
import { rowSchema } from "./column-schema.ts";
import type { Components } from "./components.ts";
import { type HeaderName, headersNamed, pageNames, rateLimitNames, readHeaderNames } from "./headers.ts";
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
    const written = writeResponse(input, rowOf, components);
    // Without a change, the status is 200 anyway.
    return operation.statuses.changed === 201
      ? { "200": { ...written, description: "Nothing was changed." }, "201": written }
      : { "200": written };
  }
  const names = readHeaderNames(endpoint);
  const ok = {
    description: operation.returns === "one" ? "The row." : operation.paginated ? "A page of rows." : "The rows.",
    headers: headersNamed(names, components),
    content: Object.fromEntries(
      formats.map((format) => [format.mediaTypes[0], mediaOf(format, operation, rowOf(), components)]),
    ),
  };
  if (route?.method !== "GET") return { "200": ok };
  return { "200": ok, "304": unchanged(names, components) };
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
    // `itemSchema` exists since OpenAPI 3.2 only.
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

/** Binary formats have no JSON Schema. The media type describes them. */
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

function unchanged(names: readonly HeaderName[], components: Components): JsonObject {
  const remaining = names.filter((name) => !pageNames.includes(name));
  const name = [
    "Unchanged",
    ...(remaining.includes("Age") ? ["Cached"] : []),
    ...(remaining.includes("RateLimit") ? ["RateLimited"] : []),
  ];
  return components.response(name.join(""), () => ({
    description: "The response has not changed since the one in `If-None-Match`.",
    headers: headersNamed(remaining, components),
  }));
}

function writeResponse({ endpoint, rows }: SuccessInput, rowOf: () => JsonObject, components: Components): JsonObject {
  const { rateLimit, operation } = endpoint;
  const { returns } = operation;
  const names = ["X-Request-Id" as const, "Cache-Control" as const, ...(rateLimit === undefined ? [] : rateLimitNames)];
  const isAlways = rows.kind === "known" && !rows.sometimesAbsent;
  const changed = components.schema("RowsAffected", () => ({
    type: "integer",
    format: "int64",
    minimum: 0,
    description: "Number of rows changed.",
  }));
  const schema = {
    type: "object",
    required: ["rows_affected", ...(isAlways ? ["data"] : [])],
    properties: {
      rows_affected: changed,
      ...(rows.kind === "none" ? {} : { data: returns === "one" ? rowOf() : { type: "array", items: rowOf() } }),
    },
  };
  return {
    description: "The change, committed.",
    headers: headersNamed(names, components),
    content: { [json.mediaTypes[0]]: { schema } },
  };
}
