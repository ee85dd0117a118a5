import { z } from "zod";

/**
 * A scalar that YAML reads as something other than text, with the characters it was written in: `1.10` must stay
 * `1.10` in a list of allowed values, and 9007199254740993 must keep its last digit.
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
/** Decimal or exponent notation, ASCII digits only: what both YAML and requests may write for a number. */
const NUMBER = "[+-]?(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?";
export const DECIMAL = new RegExp(`^${NUMBER}$`);

const ZERO = 48;

/** Where the digits begin that count: after the sign and the zeros. The last digit counts always. */
export function significantFrom(text: string): number {
  let at = text.startsWith("-") || text.startsWith("+") ? 1 : 0;
  while (at < text.length - 1 && text.charCodeAt(at) === ZERO) at++;
  return at;
}

/** What stands in the file, as a message shows it. */
export function found(input: unknown): string {
  if (typeof input === "string") return `'${input}'`;
  if (input instanceof PlainScalar) return input.source === "" ? "nothing" : `'${input.source}'`;
  if (input === undefined || input === null) return "nothing";
  return Array.isArray(input) ? "a list" : "a mapping";
}

/** JSON Schema of what an author may write, for editors. */
export interface JsonSchema {
  readonly [key: string]: unknown;
}

/** An environment variable may replace any value, or a part of it. */
const VARIABLE = "\\$\\{[^}]*\\}|\\{\\{ *env\\.";

export const VARIABLE_SCHEMA: JsonSchema = { type: "string", pattern: VARIABLE };

/** Every YAML scalar counts as the characters it was written in. */
export const SCALARS: readonly string[] = ["string", "number", "boolean"];

/** A string of this form. JSON Schema applies patterns to strings only, so plain numbers need bounds of their own. */
export function formSchema(pattern: string, others: JsonSchema = {}): JsonSchema {
  return { type: "string", pattern: `^(?:${pattern})$|${VARIABLE}`, ...others };
}

/** Digits, from `minimum` on, which is not below 0. */
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
    context.addIssue({ code: "custom", message: `expected ${expected}, found ${found(input)}` });
    return z.NEVER;
  });
  return reading.meta(schema);
}

/** A string; a plain number, boolean or `null` counts as the characters it was written in. */
export const text = scalar("a string", { type: SCALARS }, (input) => {
  if (typeof input === "string") return input;
  return input.source === "" ? undefined : input.source;
});

/** An integer with all its digits, plain or in quotes. */
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

/** A decimal number as its own text, so that no digit is lost. */
export const decimalText = scalar(
  "a number",
  formSchema(NUMBER, { type: ["number", "string"] }),
  (input): string | undefined => {
    if (typeof input === "string") return DECIMAL.test(input) ? input : undefined;
    if (DECIMAL.test(input.source)) return input.source;
    return typeof input.value === "bigint" || Number.isInteger(input.value) ? String(input.value) : undefined;
  },
);

export const boolean = scalar(
  "true or false",
  formSchema("true|false", { type: ["boolean", "string"] }),
  (input): boolean | undefined => {
    if (input instanceof PlainScalar) return typeof input.value === "boolean" ? input.value : undefined;
    if (input === "true") return true;
    return input === "false" ? false : undefined;
  },
);

/** `BigInt` reads no plus sign. */
function unsigned(digits: string): string {
  return digits.startsWith("+") ? digits.slice(1) : digits;
}
