import { z } from "zod";
import type { Validator } from "../parameter.ts";
import { invalid, valid } from "./checked.ts";
import { jsonSchema, rejectCrossedBounds, sharedOptions } from "./options.ts";
import { integer, significantStart } from "./scalars.ts";

const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;

/** At most 19 significant digits, so that no huge string is converted to a bigint. */
const DIGITS = /^[0-9]{1,19}$/;

const NOT_AN_INTEGER = invalid("Invalid integer value");
const TOO_SMALL = invalid("Integer is less than the minimum allowed value");
const TOO_LARGE = invalid("Integer is greater than the maximum allowed value");

const bound = integer.refine((value) => value >= MIN_INT64 && value <= MAX_INT64, "outside the 64-bit range");

/** A 64-bit integer. */
export const int = z
  .strictObject({ type: z.literal("int"), min: bound.optional(), max: bound.optional(), ...sharedOptions })
  .transform(({ min = MIN_INT64, max = MAX_INT64 }, context): Validator => {
    if (min > max) rejectCrossedBounds(min, max, context);
    return {
      type: "int",
      databaseType: () => "BIGINT",
      jsonSchema: jsonSchema({
        type: "integer",
        format: "int64",
        minimum: exactNumber(min),
        maximum: exactNumber(max),
      }),
      scansForInjection: false,
      check(text) {
        const value = parseInt64(text);
        if (value === undefined) return NOT_AN_INTEGER;
        if (value < min) return TOO_SMALL;
        return value > max ? TOO_LARGE : valid(value);
      },
    };
  });

/** Parses a sign and digits. Undefined if this is not a 64-bit integer. */
export function parseInt64(text: string): bigint | undefined {
  const digits = text.slice(significantStart(text));
  if (!DIGITS.test(digits)) return undefined;
  const value = text.startsWith("-") ? -BigInt(digits) : BigInt(digits);
  return value < MIN_INT64 || value > MAX_INT64 ? undefined : value;
}

/** Omits a bound that a JSON number cannot represent exactly. */
function exactNumber(value: bigint): number | undefined {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : undefined;
}
