import { z } from "zod";

/**
 * A YAML scalar that is not a string, with its characters as written. In a list of allowed values, `1.10` must stay `1.10`,
 * and 9007199254740993 must keep its last digit.
 */
export class PlainScalar {
  readonly value: number | bigint | boolean | null;
  readonly source: string;

  constructor(value: number | bigint | boolean | null, source: string) {
    this.value = value;
    this.source = source;
  }
}

const INTEGER = /^[+-]?[0-9]+$/;
/** Decimal or exponent notation with ASCII digits, for both YAML and requests. */
const NUMBER = "[+-]?(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?";
export const DECIMAL = new RegExp(`^${NUMBER}$`);

const ZERO = 48;

/** The index of the first significant digit: after the sign and leading zeros. The last digit is always significant. */
export function significantStart(text: string): number {
  let at = text.startsWith("-") || text.startsWith("+") ? 1 : 0;
  while (at < text.length - 1 && text.charCodeAt(at) === ZERO) at++;
  return at;
}

/** A value as shown after `found` in messages. */
export function describeInput(input: unknown): string {
  if (typeof input === "string") return `'${input}'`;
  if (input instanceof PlainScalar) return input.source === "" ? "nothing" : `'${input.source}'`;
  if (input === undefined || input === null) return "nothing";
  return Array.isArray(input) ? "a list" : "a mapping";
}

/** A JSON Schema for editors. */
export interface JsonSchema {
  readonly [key: string]: unknown;
}

/** An environment variable can replace any value, or a part of it. */
const VARIABLE = "\\$\\{[^}]*\\}|\\{\\{ *env\\.";

export const VARIABLE_SCHEMA: JsonSchema = { type: "string", pattern: VARIABLE };

/** Any YAML scalar can be used as a string. */
export const SCALARS: readonly string[] = ["string", "number", "boolean"];

/** JSON Schema applies patterns to strings only, so numbers need bounds in `others`. */
export function formSchema(pattern: string, others: JsonSchema = {}): JsonSchema {
  return { type: "string", pattern: `^(?:${pattern})$|${VARIABLE}`, ...others };
}

/** `minimum` must not be negative. */
export function digitsSchema(bounds: { readonly minimum: number; readonly maximum?: number }): JsonSchema {
  return formSchema("\\+?[0-9]+", { type: ["integer", "string"], ...bounds });
}

function scalar<Output>(
  expected: string,
  schema: JsonSchema,
  read: (input: string | PlainScalar) => Output | undefined,
) {
  const reading = z.unknown().transform((input, context): Output => {
    // Defaults in schemas are plain numbers and booleans.
    const written =
      typeof input === "number" || typeof input === "boolean" ? new PlainScalar(input, String(input)) : input;
    const output = typeof written === "string" || written instanceof PlainScalar ? read(written) : undefined;
    if (output !== undefined) return output;
    context.addIssue({ code: "custom", message: `expected ${expected}, found ${describeInput(input)}` });
    return z.NEVER;
  });
  return reading.meta(schema);
}

/** A string. An unquoted number, boolean or `null` is used as written. */
export const text = scalar("a string", { type: SCALARS }, (input) => {
  if (typeof input === "string") return input;
  return input.source === "" ? undefined : input.source;
});

/** An integer with all its digits, quoted or not. */
export const integer = scalar(
  "an integer",
  formSchema("[+-]?[0-9]+", { type: ["integer", "string"] }),
  (input): bigint | undefined => {
    if (typeof input === "string") return INTEGER.test(input) ? BigInt(unsigned(input)) : undefined;
    if (INTEGER.test(input.source)) return BigInt(unsigned(input.source));
    if (typeof input.value === "bigint") return input.value;
    return Number.isInteger(input.value) ? BigInt(Number(input.value)) : undefined;
  },
);

/** A decimal number as a string, so that no digit is lost. */
export const decimalText = scalar(
  "a number",
  formSchema(NUMBER, { type: ["number", "string"] }),
  (input): string | undefined => {
    if (typeof input === "string") return DECIMAL.test(input) ? input : undefined;
    if (DECIMAL.test(input.source)) return input.source;
    return typeof input.value === "bigint" || Number.isInteger(input.value) ? String(input.value) : undefined;
  },
);

/** What messages expect instead of an invalid boolean. */
export const A_BOOLEAN = "true or false";

/** The loader also accepts `yes`, `no`, `on` and `off`, with a warning. */
const BOOLEAN_FORMS = "true|false|[yY][eE][sS]|[nN][oO]|[oO][nN]|[oO][fF][fF]";

export const boolean = scalar(
  A_BOOLEAN,
  formSchema(BOOLEAN_FORMS, { type: ["boolean", "string"] }),
  (input): boolean | undefined => {
    if (input instanceof PlainScalar) return typeof input.value === "boolean" ? input.value : undefined;
    if (input === "true") return true;
    return input === "false" ? false : undefined;
  },
);

/** `BigInt` does not accept a plus sign. */
function unsigned(digits: string): string {
  return digits.startsWith("+") ? digits.slice(1) : digits;
}
