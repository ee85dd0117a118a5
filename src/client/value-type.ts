import type { Column, ColumnType } from "../result/column.ts";
import type { Numbers } from "./runtime/call.ts";
import { literal, typeKey } from "./source-text.ts";

/** How BIGINT, HUGEINT and DECIMAL appear in rows. */
export const numberModes = ["bigint", "string", "number"] as const;
export type NumberMode = (typeof numberModes)[number];

type ParsedAs = Extract<Numbers, string>;

/** How each kind of number is parsed. */
type NumberParsing = Readonly<Record<"plain" | "wideInteger" | "decimal" | "json", ParsedAs>>;

const PARSING_BY_MODE: Readonly<Record<NumberMode, NumberParsing>> = {
  bigint: { plain: "number", wideInteger: "bigint", decimal: "text", json: "json" },
  string: { plain: "number", wideInteger: "text", decimal: "text", json: "json-text" },
  number: { plain: "number", wideInteger: "number", decimal: "number", json: "number" },
};

/** Used if a value may be one of several kinds of numbers. */
const ALL_TEXT: NumberParsing = { plain: "text", wideInteger: "text", decimal: "text", json: "text" };

const NUMBER_TYPES: Readonly<Record<ParsedAs, string>> = {
  number: "number",
  bigint: "bigint",
  text: "NumberText",
  json: "Json",
  "json-text": "Json",
};

/** The TypeScript type of a value, and how its numbers are parsed. `numbers` is undefined if it contains none. */
export interface ValueType {
  readonly text: string;
  readonly numbers: Numbers | undefined;
}

/** The type of a column's values, which may be null. `types` are the SQL types that it can have. */
export function valueType(types: readonly ColumnType[], mode: NumberMode): ValueType {
  return anyOf(types, PARSING_BY_MODE[mode]);
}

/** How numbers of an unknown type are parsed. */
export function unknownNumbers(mode: NumberMode): Numbers {
  return PARSING_BY_MODE[mode].json;
}

function typeOf(type: ColumnType, parsing: NumberParsing): ValueType {
  switch (type.kind) {
    case "null":
      return { text: "null", numbers: undefined };
    case "boolean":
      return orNull("boolean");
    case "integer":
      return numberType(type.bits > 32 ? parsing.wideInteger : parsing.plain);
    case "bignum":
      return numberType(type.fractional === true ? parsing.decimal : parsing.wideInteger);
    case "decimal":
      return numberType(parsing.decimal);
    case "float":
      return numberType(parsing.plain);
    case "json":
      return { text: "Json", numbers: parsing.json };
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
      const item = typeOf(type.item, parsing);
      return orNull(`Array<${item.text}>`, item.numbers);
    }
    case "struct":
      return structType(type.fields, parsing);
    case "map": {
      const { text, numbers } = typeOf(type.value, parsing);
      return orNull(`Record<string, ${text}>`, typeof numbers === "object" ? { each: numbers } : numbers);
    }
    case "union":
      return anyOf(
        type.members.map((member) => member.type),
        parsing,
      );
  }
}

function orNull(text: string, numbers?: Numbers): ValueType {
  return { text: `${text} | null`, numbers };
}

function numberType(kind: ParsedAs): ValueType {
  return orNull(NUMBER_TYPES[kind], kind);
}

/** The type of a larger enum is `string`: its values are data rather than a set of alternatives. */
const MAX_ENUM_VALUES = 200;

function enumType({ values }: Extract<ColumnType, { kind: "enum" }>): string {
  if (values.length === 0 || values.length > MAX_ENUM_VALUES) return "string";
  return Array.from({ length: values.length }, (_, index) => literal(values.at(index) ?? "")).join(" | ");
}

function structType(fields: readonly Column[], parsing: NumberParsing): ValueType {
  const members = groupByName(fields).map(({ name, types }) => {
    // `JSON.parse` keeps only the last of several fields with the same name.
    const [type, ...others] = types;
    const isDuplicate = type === undefined || others.length > 0;
    return { name, ...(isDuplicate ? { text: "Json", numbers: parsing.json } : typeOf(type, parsing)) };
  });
  const text = members.map((member) => `${typeKey(member.name)}: ${member.text}`).join("; ");
  return orNull(text === "" ? "Record<string, never>" : `{ ${text} }`, numbersOf(members));
}

function groupByName(fields: readonly Column[]): readonly { readonly name: string; readonly types: ColumnType[] }[] {
  const byName = new Map<string, ColumnType[]>();
  for (const { name, type } of fields) byName.set(name, [...(byName.get(name) ?? []), type]);
  return [...byName].map(([name, types]) => ({ name, types }));
}

/** How the numbers in an object are parsed. Fields that are not listed contain no numbers, or only plain ones. */
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
function anyOf(types: readonly ColumnType[], parsing: NumberParsing): ValueType {
  const members = types.map((type) => typeOf(type, parsing));
  const parsings = members.flatMap(({ numbers }) => (numbers === undefined ? [] : [numbers]));
  const isSameParsing = new Set(parsings.map((each) => JSON.stringify(each))).size < 2;
  if (!isSameParsing && parsing !== ALL_TEXT) return anyOf(types, ALL_TEXT);
  const alternatives = new Set(members.flatMap(({ text }) => text.replace(/ \| null$/, "")));
  const text = [...alternatives].filter((each) => each !== "null").join(" | ");
  return {
    text: text === "" ? "null" : text === "Json" ? text : `${text} | null`,
    numbers: isSameParsing ? parsings[0] : "text",
  };
}
