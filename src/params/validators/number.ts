import { z } from "zod";
import type { Validator } from "../parameter.ts";
import { invalid, valid } from "./checked.ts";
import { compareDecimals, parseDecimal } from "./decimal.ts";
import { jsonSchema, rejectCrossedBounds, sharedOptions } from "./options.ts";
import { DECIMAL, decimalText, significantStart } from "./scalars.ts";

/** Without sign and leading zeros: up to 38 digits and no exponent, which a database can store exactly. */
const EXACT = /^(?:[0-9]{0,38}|(?=[0-9.]{0,39}$)[0-9]*\.[0-9]*)$/;
/** Longer numbers are not realistic, and would take long to compare. */
const MAX_LENGTH = 1_000;
const PLAIN = /^-?[0-9]+(?:\.[0-9]+)?(?:[eE]|$)/;

const NOT_A_NUMBER = invalid("Invalid number value");
const TOO_SMALL = invalid("Number is less than the minimum allowed value");
const TOO_LARGE = invalid("Number is greater than the maximum allowed value");

/** A decimal number, with all its digits. */
export const number = z
  .strictObject({
    type: z.literal("number"),
    min: decimalText.optional(),
    max: decimalText.optional(),
    ...sharedOptions,
  })
  .transform(({ min, max }, context): Validator => {
    const least = min === undefined ? undefined : parseDecimal(min);
    const greatest = max === undefined ? undefined : parseDecimal(max);
    if (least && greatest && compareDecimals(least, greatest) > 0) rejectCrossedBounds(min, max, context);
    return {
      type: "number",
      databaseType: (text) => (EXACT.test(text.slice(significantStart(text))) ? "DECIMAL" : "DOUBLE"),
      jsonSchema: jsonSchema({ type: "number", minimum: min && Number(min), maximum: max && Number(max) }),
      scansForInjection: false,
      check(text) {
        // A number that overflows a double also has too many digits for a decimal.
        if (text.length > MAX_LENGTH || !DECIMAL.test(text) || !Number.isFinite(Number(text))) return NOT_A_NUMBER;
        if (least !== undefined && compareDecimals(parseDecimal(text), least) < 0) return TOO_SMALL;
        if (greatest !== undefined && compareDecimals(parseDecimal(text), greatest) > 0) return TOO_LARGE;
        return valid(plain(text));
      },
    };
  });

/** The number in a form that every database accepts: digits before and after the point, no plus sign. */
function plain(text: string): string {
  if (PLAIN.test(text)) return text;
  const [, sign = "", whole = "", fraction = "", exponent = ""] = /^([+-]?)([0-9]*)\.?([0-9]*)(.*)$/.exec(text) ?? [];
  return `${sign === "-" ? "-" : ""}${whole || "0"}${fraction && `.${fraction}`}${exponent}`;
}
