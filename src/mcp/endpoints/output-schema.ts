import { rowSchema, type SharedSchemas } from "../../docs/column-schema.ts";
import type { JsonObject } from "../../docs/json.ts";
import { type RowShape, UNKNOWN_ROWS } from "../../docs/row-shape.ts";
import type { Endpoint } from "../../endpoint/endpoint.ts";

const COUNT: JsonObject = { type: "integer", minimum: 0 };
const TRUNCATED: JsonObject = { type: "boolean", description: "There are more rows than these." };

/** The schema of structured content. Clients reject results that do not match, so it states only what always holds. */
export function outputSchema({ operation }: Endpoint, shape: RowShape | undefined): JsonObject {
  const row = simplify(rowSchema(shape ?? UNKNOWN_ROWS, inlineSchemas));
  const isOne = operation.returns === "one";
  const rows = { type: "array", items: row };
  if (operation.kind === "write") {
    const data = shape?.kind === "none" ? {} : { data: isOne ? row : rows, truncated: TRUNCATED };
    return { type: "object", required: ["rows_affected"], properties: { rows_affected: COUNT, ...data } };
  }
  if (isOne) return row;
  return {
    type: "object",
    required: ["rows", "row_count"],
    properties: {
      rows,
      row_count: COUNT,
      truncated: TRUNCATED,
      ...(operation.paginated ? { total_count: COUNT, next_offset: COUNT } : {}),
    },
  };
}

const TEXT = ["string", "null"];

/**
 * Short schemas, because models read them for every tool. Dates have no `format`, because no format allows infinite dates and
 * all years. Big numbers have no type, because some parsers do not return them as numbers.
 */
const SHORT: Readonly<Record<string, JsonObject>> = {
  Decimal: { type: ["number", "null"] },
  BigNumber: { description: "A whole number of any length." },
  Geometry: { type: TEXT, description: "Well-known text." },
  Date: { type: TEXT, description: "YYYY-MM-DD" },
  Time: { type: TEXT, description: "HH:MM:SS" },
  TimeWithZone: { type: TEXT, description: "HH:MM:SS with its offset" },
  Timestamp: { type: TEXT, description: "YYYY-MM-DDTHH:MM:SS" },
  TimestampWithZone: { type: TEXT, description: "YYYY-MM-DDTHH:MM:SSZ" },
  Interval: { type: TEXT, description: "ISO 8601 duration" },
};

const inlineSchemas: SharedSchemas = { schema: (name, make) => SHORT[name] ?? make() };

/** Keywords that do not affect validation, and formats that some validators do not know. */
const OMITTED: ReadonlySet<string> = new Set(["x-sql-type", "format"]);

function simplify(schema: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key, value]) => !OMITTED.has(key) || value === "uuid")
      .map(([key, value]) => [key, simplifyPart(key, value)]),
  );
}

function simplifyPart(key: string, value: unknown): unknown {
  switch (key) {
    case "properties":
      return isObject(value) ? Object.fromEntries(Object.entries(value).map(simplifyEntry)) : value;
    case "items":
    case "additionalProperties":
      return isObject(value) ? simplify(value) : value;
    case "anyOf":
      return Array.isArray(value) ? value.map((each) => (isObject(each) ? simplify(each) : each)) : value;
    default:
      return value;
  }
}

function simplifyEntry([name, schema]: [string, unknown]): readonly [string, unknown] {
  return [name, isObject(schema) ? simplify(schema) : schema];
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
