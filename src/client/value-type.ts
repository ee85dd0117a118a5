import type { Column, ColumnType } from "../result/column.ts";
import type { Numbers } from "./runtime/call.ts";
import { literal, typeKey } from "./source-text.ts";

/** How BIGINT, HUGEINT and DECIMAL appear in rows. */
export const numberModes = ["bigint", "string", "number"] as const;
export type NumberMode = (typeof numberModes)[number];

type Kinds = Readonly<Record<"plain" | "whole" | "decimal" | "json", Extract<Numbers, string>>>;

const KINDS: Readonly<Record<NumberMode, Kinds>> = {
  bigint: { plain: "number", whole: "bigint", decimal: "text", json: "json" },
  string: { plain: "number", whole: "text", decimal: "text", json: "json-text" },
  number: { plain: "number", whole: "number", decimal: "number", json: "number" },
};

/** Used if several kinds of numbers are possible. */
const ALL_TEXT: Kinds = { plain: "text", whole: "text", decimal: "text", json: "text" };

const NUMBER_TYPES: Readonly<Record<Kinds["plain"], string>> = {
  number: "number",
  bigint: "bigint",
  text: "NumberText",
  json: "Json",
  "json-text": "Json",
};

/** The TypeScript type of a value, and how its numbers are parsed. Undefined without numbers. */
export interface ValueType {
  readonly text: string;
  readonly numbers: Numbers | undefined;
}

/** The type of the values of a column, which may be null. */
export function valueType(types: readonly ColumnType[], mode: NumberMode): ValueType {
  return anyOf(types, KINDS[mode]);
}

/** How numbers of an unknown type are parsed. */
export function unknownNumbers(mode: NumberMode): Numbers {
  return KINDS[mode].json;
}

function typeOf(type: ColumnType, kinds: Kinds): ValueType {
  switch (type.kind) {
    case "null":
      return { text: "null", numbers: undefined };
    case "boolean":
      return orNull("boolean");
    case "integer":
      return numberOf(type.bits > 32 ? kinds.whole : kinds.plain);
    case "bignum":
      return numberOf(kinds.whole);
    case "decimal":
      return numberOf(kinds.decimal);
    case "float":
      return numberOf(kinds.plain);
    case "json":
      return { text: "Json", numbers: kinds.json };
    case "text":
    case "blob":
    case "bit":
    case "geometry":
    case "uuid":
    case "date":
    case "time":
    case "timetz":
    case "timestamp":
    case "interval":
      return orNull("string");
    case "enum":
      return orNull(enumType(type));
    case "list":
    case "array": {
      const item = typeOf(type.item, kinds);
      return orNull(`Array<${item.text}>`, item.numbers);
    }
    case "struct":
      return structType(type.fields, kinds);
    case "map": {
      const { text, numbers } = typeOf(type.value, kinds);
      return orNull(`Record<string, ${text}>`, typeof numbers === "object" ? { each: numbers } : numbers);
    }
    case "union":
      return anyOf(
        type.members.map((member) => member.type),
        kinds,
      );
  }
}

function orNull(text: string, numbers?: Numbers): ValueType {
  return { text: `${text} | null`, numbers };
}

function numberOf(kind: Kinds["plain"]): ValueType {
  return orNull(NUMBER_TYPES[kind], kind);
}

/** The values of a large enum are data, not types. */
const MOST_ENUM_VALUES = 200;

function enumType({ values }: Extract<ColumnType, { kind: "enum" }>): string {
  if (values.length === 0 || values.length > MOST_ENUM_VALUES) return "string";
  return Array.from({ length: values.length }, (_, index) => literal(values.at(index) ?? "")).join(" | ");
}

function structType(fields: readonly Column[], kinds: Kinds): ValueType {
  const members = fieldsOf(fields).map(({ name, types }) => {
    // Of fields with the same name, `JSON.parse` keeps the last.
    const [type, ...others] = types;
    const isShared = type === undefined || others.length > 0;
    return { name, ...(isShared ? { text: "Json", numbers: kinds.json } : typeOf(type, kinds)) };
  });
  const text = members.map((member) => `${typeKey(member.name)}: ${member.text}`).join("; ");
  return orNull(text === "" ? "Record<string, never>" : `{ ${text} }`, numbersOf(members));
}

function fieldsOf(fields: readonly Column[]): readonly { readonly name: string; readonly types: ColumnType[] }[] {
  const byName = new Map<string, ColumnType[]>();
  for (const { name, type } of fields) byName.set(name, [...(byName.get(name) ?? []), type]);
  return [...byName].map(([name, types]) => ({ name, types }));
}

/** How the numbers of an object are parsed. Other fields are parsed as usual. */
export function numbersOf(
  members: readonly { readonly name: string; readonly numbers: Numbers | undefined }[],
): Numbers | undefined {
  const named = members.flatMap(({ name, numbers }) =>
    numbers === undefined || numbers === "number" ? [] : [[name, numbers] as const],
  );
  if (named.length > 0) return { fields: Object.fromEntries(named) };
  return members.some(({ numbers }) => numbers !== undefined) ? "number" : undefined;
}

/** A value of one of several types. */
function anyOf(types: readonly ColumnType[], kinds: Kinds): ValueType {
  const members = types.map((type) => typeOf(type, kinds));
  const ways = members.flatMap(({ numbers }) => (numbers === undefined ? [] : [numbers]));
  const isOneWay = new Set(ways.map((way) => JSON.stringify(way))).size < 2;
  if (!isOneWay && kinds !== ALL_TEXT) return anyOf(types, ALL_TEXT);
  const alternatives = new Set(members.flatMap(({ text }) => text.replace(/ \| null$/, "")));
  const text = [...alternatives].filter((each) => each !== "null").join(" | ");
  return {
    text: text === "" ? "null" : text === "Json" ? text : `${text} | null`,
    numbers: isOneWay ? ways[0] : "text",
  };
}
