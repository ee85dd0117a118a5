import type { Column, ColumnType } from "../result/column.ts";
import { quoteIdentifier } from "../sql/quote.ts";
import { isPlain, parameterName, takeName } from "./names.ts";

/** A validator, as in the YAML of an endpoint. */
export type ValidatorYaml = Readonly<Record<string, unknown>>;

/** A query parameter that selects rows by a column. */
export interface Filter {
  readonly name: string;
  readonly description: string;
  readonly validator: ValidatorYaml;
  /** The condition in SQL. `value` is the tag of the parameter. */
  condition(value: string): string;
}

/** Eider checks a template with each of its parameters alone, so many parameters take long. Wider tables get one filter per column. */
const MOST_COLUMNS = 30;
const LONGEST_TEXT = 1_000;
const MOST_ENUM_VALUES = 100;

/** The days that a timestamp in nanoseconds can hold. */
const NANOSECOND_DAYS = { min: "1677-09-23", max: "2262-04-10" };

/** The validator for values of a type. Undefined for types that no parameter can hold. */
export function validatorOf(type: ColumnType): ValidatorYaml | undefined {
  switch (type.kind) {
    case "boolean":
      return { type: "boolean" };
    case "integer":
      return { type: "int" };
    case "float":
    case "decimal":
      return { type: "number" };
    case "text":
      return { type: "string", max: LONGEST_TEXT };
    case "uuid":
      return { type: "uuid" };
    case "enum":
      return enumValidator(type);
    case "date":
      return { type: "date" };
    case "time":
      return { type: "time" };
    case "timestamp":
      return { type: "date", ...(type.unit === "ns" && NANOSECOND_DAYS) };
    default:
      return undefined;
  }
}

function enumValidator({ values }: Extract<ColumnType, { kind: "enum" }>): ValidatorYaml {
  const allowedValues = Array.from({ length: Math.min(values.length, MOST_ENUM_VALUES + 1) }, (_, index) =>
    String(values.at(index)),
  );
  return allowedValues.length > 0 && allowedValues.length <= MOST_ENUM_VALUES && allowedValues.every(isPlain)
    ? { type: "enum", allowedValues }
    : { type: "string", max: LONGEST_TEXT };
}

interface Comparison {
  /** Added to the name of the column. */
  readonly suffix: "" | "_min" | "_max" | "_contains";
  readonly description: string;
  condition(column: string, value: string): string;
}

const ORDERED: readonly Comparison[] = [
  { suffix: "", description: "equal to this", condition: (column, value) => `${column} = ${value}` },
  { suffix: "_min", description: "this or more", condition: (column, value) => `${column} >= ${value}` },
  { suffix: "_max", description: "this or less", condition: (column, value) => `${column} <= ${value}` },
];

const DAYS: readonly Comparison[] = [
  {
    suffix: "",
    description: "on this day",
    condition: (column, value) => `${column} >= ${value} AND ${column} < ${value} + INTERVAL 1 DAY`,
  },
  { suffix: "_min", description: "on this day or later", condition: (column, value) => `${column} >= ${value}` },
  {
    suffix: "_max",
    description: "on this day or earlier",
    condition: (column, value) => `${column} < ${value} + INTERVAL 1 DAY`,
  },
];

const EQUAL_TEXT: Comparison = {
  suffix: "",
  description: "equal to this",
  condition: (column, value) => `${column} = '${value}'`,
};

const TEXT: readonly Comparison[] = [
  EQUAL_TEXT,
  {
    suffix: "_contains",
    description: "contains this, in any letter case",
    condition: (column, value) => `contains(lower(${column}), lower('${value}'))`,
  },
];

const EQUAL_UUID: Comparison = {
  suffix: "",
  description: "equal to this",
  condition: (column, value) => `${column} = CAST(${value} AS UUID)`,
};

function comparisonsOf({ kind }: ColumnType): readonly Comparison[] {
  switch (kind) {
    case "integer":
    case "float":
    case "decimal":
    case "date":
    case "time":
      return ORDERED;
    case "timestamp":
      return DAYS;
    case "text":
      return TEXT;
    case "uuid":
      return [EQUAL_UUID];
    case "enum":
      return [EQUAL_TEXT];
    case "boolean":
      return ORDERED.slice(0, 1);
    default:
      return [];
  }
}

/** Whether rows can be sorted by the column, and its name can be a value of the parameter `sort`. */
export function isSortable({ name, type }: Column): boolean {
  return isPlain(name) && name !== "" && comparisonsOf(type).length > 0;
}

/** The filters of all columns. No two have the same name, and none has one of the `taken` names. */
export function filtersOf(columns: readonly Column[], taken: ReadonlySet<string>): readonly Filter[] {
  const names = new Set(taken);
  const mostFilters = columns.length > MOST_COLUMNS ? 1 : undefined;
  // SQL has no way to write an empty name.
  const named = columns.filter(({ name }) => name !== "");
  // First the names of the columns themselves: `a_min` is the column of that name, not the minimum of `a`.
  const bases = new Map(named.map((column) => [column, takeName(parameterName(column.name), names)]));
  return named.flatMap((column) => {
    const validator = validatorOf(column.type);
    const base = bases.get(column) ?? "";
    const shown = isPlain(column.name) ? column.name : base;
    return validator === undefined
      ? []
      : comparisonsOf(column.type)
          .slice(0, mostFilters)
          .map(({ suffix, description, condition }) => ({
            name: suffix === "" ? base : takeName(`${base}${suffix}`, names),
            description: `${shown}: ${description}`,
            validator,
            condition: (value) => condition(quoteIdentifier(column.name), value),
          }));
  });
}

/** The condition that finds the row with a key. */
export function keyCondition({ name, type }: Column, value: string): string {
  const [equal] = comparisonsOf(type);
  return equal?.condition(quoteIdentifier(name), value) ?? "false";
}
