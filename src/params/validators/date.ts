import { z } from "zod";
import type { Validator } from "../parameter.ts";
import { invalid, valid } from "./checked.ts";
import { jsonSchema, rejectCrossedBounds, sharedOptions } from "./options.ts";
import { describeInput, formSchema, text } from "./scalars.ts";

const DATE = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/;
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

const NOT_A_DATE = invalid("Invalid date format");
const TOO_EARLY = invalid("Date is before the minimum allowed date");
const TOO_LATE = invalid("Date is after the maximum allowed date");

const bound = text
  .refine(isCalendarDate, { error: ({ input }) => `expected a date YYYY-MM-DD, found ${describeInput(input)}` })
  .meta(formSchema("[0-9]{4}-[0-9]{2}-[0-9]{2}"));

/** A calendar date from year 0001 to 9999. */
export const date = z
  .strictObject({ type: z.literal("date"), min: bound.optional(), max: bound.optional(), ...sharedOptions })
  .transform(({ min, max }, context): Validator => {
    if (min !== undefined && max !== undefined && min > max) rejectCrossedBounds(min, max, context);
    const range = [min && `from ${min}`, max && `to ${max}`].filter(Boolean).join(" ");
    return {
      type: "date",
      databaseType: () => "DATE",
      // JSON Schema has no bounds for dates, so the description names them.
      jsonSchema: jsonSchema({ type: "string", format: "date", description: range || undefined }),
      scansForInjection: false,
      check(value) {
        if (!isCalendarDate(value)) return NOT_A_DATE;
        // Because of the fixed width, strings sort like dates.
        if (min !== undefined && value < min) return TOO_EARLY;
        return max !== undefined && value > max ? TOO_LATE : valid(value);
      },
    };
  });

function isCalendarDate(value: string): boolean {
  const match = DATE.exec(value);
  if (match === null) return false;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const days = month === 2 && isLeapYear(year) ? 29 : (DAYS[month - 1] ?? 0);
  return year >= 1 && day >= 1 && day <= days;
}

function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}
