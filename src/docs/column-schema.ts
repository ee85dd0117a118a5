import type { Column, ColumnType } from "../result/column.ts";
import type { Components } from "./components.ts";
import type { JsonObject } from "./json.ts";
import type { RowShape, ShapedColumn } from "./row-shape.ts";
import { sqlTypeName } from "./sql-type-name.ts";

/** Holds the schemas that are shared because they have a description. */
export type SharedSchemas = Pick<Components, "schema">;

/** The schema of an endpoint's rows in JSON. Every value may be null. */
export function rowSchema(shape: RowShape, components: SharedSchemas): JsonObject {
  if (shape.kind !== "known") {
    return { type: "object", description: "Its columns are unknown until the query runs." };
  }
  const required = shape.columns.filter(({ isAlwaysPresent }) => isAlwaysPresent).map(({ name }) => name);
  return {
    type: "object",
    ...(required.length === 0 ? {} : { required }),
    properties: propertiesOf(shape.columns.map((column) => [column.name, shapedSchema(column, components)])),
  };
}

function shapedSchema({ types, isAlwaysPresent }: ShapedColumn, components: SharedSchemas): JsonObject {
  const [first, ...others] = types;
  const sqlType = { "x-sql-type": types.map(sqlTypeName).join(" or ") };
  const note = isAlwaysPresent ? {} : { description: "Present depending on the parameters." };
  const schema =
    others.length === 0
      ? columnSchema(first, components)
      : { anyOf: types.map((type) => columnSchema(type, components)) };
  return { ...schema, ...sqlType, ...note };
}

/** The schema of a value in JSON. Schemas with a description are shared components. */
function columnSchema(type: ColumnType, components: SharedSchemas): JsonObject {
  switch (type.kind) {
    case "null":
      return { type: "null" };
    case "boolean":
      return { type: ["boolean", "null"] };
    case "integer":
      return integerSchema(type);
    case "float":
      return { type: ["number", "null"], format: type.bits === 32 ? "float" : "double" };
    case "text":
      return { type: ["string", "null"] };
    case "json":
      return { description: "Any JSON." };
    case "blob":
      return { type: ["string", "null"], contentEncoding: "base64" };
    case "bit":
      return { type: ["string", "null"], pattern: "^[01]*$" };
    case "uuid":
      return { type: ["string", "null"], format: "uuid" };
    case "enum":
      return enumSchema(type);
    case "decimal":
    case "bignum":
    case "geometry":
    case "date":
    case "time":
    case "timetz":
    case "timestamp":
    case "interval": {
      const [name, schema] = sharedSchema(type);
      return components.schema(name, () => schema);
    }
    case "list":
      return { type: ["array", "null"], items: columnSchema(type.item, components) };
    case "array": {
      const items = columnSchema(type.item, components);
      return { type: ["array", "null"], items, minItems: type.size, maxItems: type.size };
    }
    case "struct":
      return structSchema(type.fields, components);
    case "map":
      return { type: ["object", "null"], additionalProperties: columnSchema(type.value, components) };
    case "union":
      return { anyOf: type.members.map((member) => columnSchema(member.type, components)) };
  }
}

type TypeOf<Kind extends ColumnType["kind"]> = Extract<ColumnType, { kind: Kind }>;

function integerSchema({ bits, signed }: TypeOf<"integer">): JsonObject {
  const type = ["integer", "null"];
  const least = signed ? {} : { minimum: 0 };
  if (bits === 128) return { type, ...least, description: "Up to 39 digits, all exact." };
  if (bits === 64) return { type, format: signed ? "int64" : "uint64", ...least };
  return { type, format: bits === 32 && !signed ? "int64" : "int32", ...least };
}

/** The values of a large enum are data, not documentation. */
const MAX_ENUM_VALUES = 200;

function enumSchema({ values }: TypeOf<"enum">): JsonObject {
  if (values.length > MAX_ENUM_VALUES) return { type: ["string", "null"] };
  const texts = Array.from({ length: values.length }, (_, index) => values.at(index) ?? "");
  return { type: ["string", "null"], enum: [...texts, null] };
}

function structSchema(fields: readonly Column[], components: SharedSchemas): JsonObject {
  const properties = propertiesOf(fields.map(({ name, type }) => [name, columnSchema(type, components)]));
  return { type: ["object", "null"], required: Object.keys(properties), properties };
}

/** JSON parsers keep only the last of several columns with the same name. Such a column gets a schema without a type. */
function propertiesOf(entries: readonly (readonly [name: string, schema: JsonObject])[]): JsonObject {
  const names = entries.map(([name]) => name);
  // Assignment would fail for a column named `__proto__`.
  return Object.fromEntries(
    entries.map(([name, schema], index) => [name, names.indexOf(name) === index ? schema : {}]),
  );
}

type Shared = TypeOf<"decimal" | "bignum" | "geometry" | "date" | "time" | "timetz" | "timestamp" | "interval">;

const RANGE_NOTE =
  "May be `infinity` or `-infinity`; years before 1 and after 9999 have a sign (`-0043-03-15`, `+10000-01-01`).";

/** The name of a shared schema, and the schema. */
function sharedSchema(type: Shared): readonly [name: string, schema: JsonObject] {
  const nullableString = ["string", "null"];
  switch (type.kind) {
    case "decimal": {
      const description = "A DECIMAL with all its digits. Parsing it as a double may lose the last ones.";
      return ["Decimal", { type: ["number", "null"], format: "decimal", description }];
    }
    case "bignum":
      if (type.fractional === true) {
        const description =
          "Any number of digits, with a fraction or not, all exact. Parsing it as a double may lose the last ones.";
        return ["Numeric", { type: ["number", "null"], format: "decimal", description }];
      }
      return ["BigNumber", { type: ["integer", "null"], description: "Any number of digits, all exact." }];
    case "geometry":
      return ["Geometry", { type: nullableString, description: "Well-known text: `POINT (1 2)`." }];
    case "date":
      return ["Date", { type: nullableString, format: "date", description: `\`YYYY-MM-DD\`. ${RANGE_NOTE}` }];
    case "time": {
      const pattern = "^[0-2][0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{3,9})?$";
      const description = "A time of day, `HH:MM:SS`, with a fraction unless it is zero.";
      return ["Time", { type: nullableString, pattern, description }];
    }
    case "timetz": {
      const pattern = "^[0-2][0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{6})?(Z|[+-][0-9]{2}:[0-9]{2}(:[0-9]{2})?)$";
      return [
        "TimeWithZone",
        { type: nullableString, pattern, description: "A time of day with its offset, `12:30:00+02:00`." },
      ];
    }
    case "timestamp": {
      if (type.zoned) {
        return [
          "TimestampWithZone",
          { type: nullableString, format: "date-time", description: `A moment, in UTC. ${RANGE_NOTE}` },
        ];
      }
      const description = `\`YYYY-MM-DDTHH:MM:SS\` without a time zone, with a fraction unless it is zero. ${RANGE_NOTE}`;
      return ["Timestamp", { type: nullableString, description }];
    }
    case "interval": {
      const description = "A duration as in ISO 8601, each part with its own sign: `P1M2DT3H`, `P1Y-2M`.";
      return ["Interval", { type: nullableString, description }];
    }
  }
}
