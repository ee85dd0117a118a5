import { z } from "zod";
import type { Validator } from "../parameter.ts";
import { invalid, valid } from "./checked.ts";
import { jsonSchema, rejectCrossedBounds, sharedOptions } from "./options.ts";
import { describeInput, formSchema, text } from "./scalars.ts";

const TIME = /^(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?$/;

const NOT_A_TIME = invalid("Invalid time format");
const TOO_EARLY = invalid("Time is before the minimum allowed time");
const TOO_LATE = invalid("Time is after the maximum allowed time");

const bound = text
  .refine((value) => TIME.test(value), {
    error: ({ input }) => `expected a time HH:MM:SS, found ${describeInput(input)}`,
  })
  .meta(formSchema("[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\\.[0-9]{1,9})?"));

/** A time of day, with optional fractions of a second. */
export const time = z
  .strictObject({ type: z.literal("time"), min: bound.optional(), max: bound.optional(), ...sharedOptions })
  .transform(({ min, max }, context): Validator => {
    const earliest = min === undefined ? undefined : sortable(min);
    const latest = max === undefined ? undefined : sortable(max);
    if (earliest !== undefined && latest !== undefined && earliest > latest) rejectCrossedBounds(min, max, context);
    const range = [min && `from ${min}`, max && `to ${max}`].filter(Boolean).join(" ");
    return {
      type: "time",
      databaseType: () => "TIME",
      // Not `format: time`, because JSON Schema requires a time zone there.
      jsonSchema: jsonSchema({ type: "string", pattern: TIME.source, description: range || undefined }),
      scansForInjection: false,
      check(value) {
        if (!TIME.test(value)) return NOT_A_TIME;
        if (earliest !== undefined && sortable(value) < earliest) return TOO_EARLY;
        return latest !== undefined && sortable(value) > latest ? TOO_LATE : valid(value);
      },
    };
  });

/** Pads the fraction to nine digits, so that 12:00:00 and 12:00:00.0 are equal. */
function sortable(value: string): string {
  return (value.includes(".") ? value : `${value}.`).padEnd("HH:MM:SS.fffffffff".length, "0");
}
