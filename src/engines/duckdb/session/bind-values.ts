import duckdb from "@duckdb/node-bindings";
import type { BoundValue } from "../../../sql/statement.ts";

/** Binds values to the parameters `$1`, `$2`, ... of a prepared statement. */
export function bindValues(
  statement: duckdb.PreparedStatement,
  values: readonly BoundValue[],
  types: readonly ParameterType[] = [],
): void {
  values.forEach((bound, index) => {
    if (!bindAsParameterType(statement, index + 1, bound, types[index])) bindValue(statement, index + 1, bound);
  });
}

const MAX_CACHED_LENGTH = 64 * 1024;

/** Whether values take so much memory that their statement should not be cached. */
export function hasLongValues(values: readonly BoundValue[]): boolean {
  let length = 0;
  for (const { value } of values) if (typeof value === "string") length += value.length;
  return length > MAX_CACHED_LENGTH;
}

/** The type that DuckDB expects for a parameter; undefined where it makes no difference. */
export type ParameterType = "INTEGER" | { readonly width: number; readonly scale: number } | undefined;

/**
 * The types that DuckDB expects for parameters. It replans a statement for values of another type, which takes
 * longer than inserting a row. Only valid before the first execution.
 */
export function parameterTypes(statement: duckdb.PreparedStatement): readonly ParameterType[] {
  return Array.from({ length: duckdb.nparams(statement) }, (_, index) => {
    switch (duckdb.param_type(statement, index + 1)) {
      case duckdb.Type.INTEGER:
        return "INTEGER";
      case duckdb.Type.DECIMAL: {
        const type = duckdb.param_logical_type(statement, index + 1);
        return { width: duckdb.decimal_width(type), scale: duckdb.decimal_scale(type) };
      }
      default:
        return undefined;
    }
  });
}

/** Returns whether the value could be bound in the expected type. */
function bindAsParameterType(
  statement: duckdb.PreparedStatement,
  index: number,
  { type, value }: BoundValue,
  expected: ParameterType,
): boolean {
  if (expected === undefined || value === null) return false;
  if (expected === "INTEGER") {
    const integer = type === "BIGINT" ? BigInt(value) : undefined;
    if (integer === undefined || integer !== BigInt.asIntN(32, integer)) return false;
    duckdb.bind_int32(statement, index, Number(integer));
    return true;
  }
  const decimal = type === "DECIMAL" ? decimalOf(String(value)) : undefined;
  if (decimal === undefined || decimal.scale > expected.scale) return false;
  const unscaled = decimal.value * 10n ** BigInt(expected.scale - decimal.scale);
  if (unscaled.toString().replace("-", "").length > expected.width) return false;
  duckdb.bind_decimal(statement, index, { ...expected, value: unscaled });
  return true;
}

function bindValue(statement: duckdb.PreparedStatement, index: number, { type, value }: BoundValue): void {
  if (value === null) {
    duckdb.bind_null(statement, index);
    return;
  }
  if (type === "BIGINT") {
    duckdb.bind_int64(statement, index, BigInt(value));
    return;
  }
  const text = String(value);
  switch (type) {
    case "BOOLEAN":
      duckdb.bind_boolean(statement, index, text === "true");
      break;
    case "DOUBLE":
      duckdb.bind_double(statement, index, Number(value));
      break;
    case "DATE":
      bindParsed(statement, index, { text, parsed: daysOf(text), bind: duckdb.bind_date });
      break;
    case "TIME":
      bindParsed(statement, index, { text, parsed: microsOf(text), bind: duckdb.bind_time });
      break;
    case "DECIMAL":
      bindParsed(statement, index, { text, parsed: decimalOf(text), bind: duckdb.bind_decimal });
      break;
    case "VARCHAR":
      duckdb.bind_varchar(statement, index, text);
      break;
  }
}

interface Parsed<T> {
  readonly text: string;
  readonly parsed: T | undefined;
  readonly bind: (statement: duckdb.PreparedStatement, index: number, value: T) => void;
}

/** A string in another form is left to DuckDB, which parses it like a literal. */
function bindParsed<T>(statement: duckdb.PreparedStatement, index: number, { text, parsed, bind }: Parsed<T>): void {
  if (parsed === undefined) duckdb.bind_varchar(statement, index, text);
  else bind(statement, index, parsed);
}

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;

function daysOf(text: string): duckdb.Date_ | undefined {
  const [, year, month, day] = DATE.exec(text) ?? [];
  if (year === undefined) return undefined;
  // Not Date.UTC, which maps the years 0 to 99 to 1900 to 1999.
  const time = new Date(0).setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  return new Date(time).toISOString().startsWith(text) ? { days: time / 86_400_000 } : undefined;
}

const TIME = /^([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{1,6}))?$/;

function microsOf(text: string): duckdb.Time | undefined {
  const [, hours, minutes, seconds, fraction = ""] = TIME.exec(text) ?? [];
  if (hours === undefined) return undefined;
  const whole = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds);
  return { micros: BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, "0")) };
}

const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?$/;
const MAX_DECIMAL_DIGITS = 38;

function decimalOf(text: string): duckdb.Decimal | undefined {
  const [, sign, whole = "", fraction = ""] = DECIMAL.exec(text) ?? [];
  const digits = whole.replace(/^0+/, "") + fraction;
  if (sign === undefined || whole + fraction === "" || digits.length > MAX_DECIMAL_DIGITS) return undefined;
  const unscaled = BigInt(digits === "" ? "0" : digits);
  // One digit before the point where possible: DuckDB shows a DECIMAL(1,1) as `.5`.
  const width = Math.min(Math.max(digits.length, fraction.length + 1), MAX_DECIMAL_DIGITS);
  return { width, scale: fraction.length, value: sign === "-" ? -unscaled : unscaled };
}
