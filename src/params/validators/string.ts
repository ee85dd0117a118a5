import { z } from "zod";
import type { CheckResult, Validator } from "../parameter.ts";
import { invalid, valid } from "./checked.ts";
import { jsonSchema, rejectCrossedBounds, sharedOptions } from "./options.ts";
import { compileRegex, jsonSchemaPattern } from "./regex.ts";
import { digitsSchema, integer, text } from "./scalars.ts";

const TOO_SHORT = invalid("String is shorter than the minimum allowed length");
const TOO_LONG = invalid("String is longer than the maximum allowed length");
const WRONG_FORMAT = invalid("Invalid string format");

const length = integer
  .refine((value) => value >= 0n && value <= Number.MAX_SAFE_INTEGER, "expected a length of 0 or more")
  .transform(Number)
  .meta(digitsSchema({ minimum: 0 }));

const regex = text.transform((source, context) => {
  const compiled = compileRegex(source);
  if (typeof compiled !== "string") return { ...compiled, source };
  context.addIssue({ code: "custom", message: compiled });
  return z.NEVER;
});

/** A string, optionally limited by length or pattern. */
export const string = z
  .strictObject({
    type: z.literal("string"),
    min: length.optional(),
    max: length.optional(),
    "min-length": length.optional(),
    "max-length": length.optional(),
    regex: regex.optional(),
    ...sharedOptions,
  })
  .transform(({ regex, preventSqlInjection, ...options }, context): Validator => {
    for (const bound of ["min", "max"] as const) {
      if (options[bound] === undefined || options[`${bound}-length`] === undefined) continue;
      context.addIssue({ code: "custom", path: [`${bound}-length`], message: `means the same as ${bound}; give one` });
    }
    const min = options.min ?? options["min-length"] ?? 0;
    const max = options.max ?? options["max-length"];
    if (max !== undefined && min > max) rejectCrossedBounds(min, max, context);
    /** Checked first, because lengths are cheaper than the pattern. */
    const lengthProblem = (value: string): CheckResult | undefined => {
      if (min > 0 && isShorter(value, min)) return TOO_SHORT;
      return max !== undefined && isLonger(value, max) ? TOO_LONG : undefined;
    };
    return {
      type: "string",
      databaseType: () => "VARCHAR",
      jsonSchema: jsonSchema({
        type: "string",
        minLength: min === 0 ? undefined : min,
        maxLength: max,
        pattern: regex === undefined ? undefined : jsonSchemaPattern(regex.source),
      }),
      scansForInjection: preventSqlInjection,
      check: (value) => lengthProblem(value) ?? patternResult(value, regex === undefined || regex.matches(value)),
      checkOnThread(value) {
        if (regex === undefined || lengthProblem(value) !== undefined) return undefined;
        return regex.matchesLong(value).then((matches) => patternResult(value, matches));
      },
    };
  });

function patternResult(value: string, matches: boolean): CheckResult {
  return matches ? valid(value) : WRONG_FORMAT;
}

/** A character has one or two UTF-16 units, so for most strings, `length` is sufficient. */
function isShorter(value: string, min: number): boolean {
  return value.length < min || (value.length < 2 * min && countCharacters(value) < min);
}

function isLonger(value: string, max: number): boolean {
  return value.length > 2 * max || (value.length > max && countCharacters(value) > max);
}

/** Counts Unicode characters, as databases do. */
function countCharacters(value: string): number {
  let count = value.length;
  for (let index = 0; index < value.length - 1; index++) {
    if ((value.charCodeAt(index) & 0xfc00) !== 0xd800) continue;
    if ((value.charCodeAt(index + 1) & 0xfc00) !== 0xdc00) continue;
    count--;
    index++;
  }
  return count;
}
