import { z } from "zod";
import type { Validator } from "../parameter.ts";
import { invalid, valid } from "./checked.ts";
import { sharedOptions } from "./options.ts";
import { describeInput, text } from "./scalars.ts";

const NOT_LISTED = invalid("Invalid enum value");

const values = z
  .array(text, { error: ({ input }) => `expected a list of allowed values, found ${describeInput(input)}` })
  .min(1, "expected at least one allowed value");

/** One of the listed values, case-sensitive. */
export const enumeration = z
  .strictObject({ type: z.literal("enum"), allowedValues: values, ...sharedOptions })
  .transform(({ allowedValues }): Validator => {
    const allowed = new Set(allowedValues);
    return {
      type: "enum",
      databaseType: () => "VARCHAR",
      jsonSchema: { type: "string", enum: [...allowed] },
      // The listed values are trusted, and all others are rejected anyway.
      scansForInjection: false,
      allowedValues: [...allowed],
      check: (value) => (allowed.has(value) ? valid(value) : NOT_LISTED),
    };
  });
