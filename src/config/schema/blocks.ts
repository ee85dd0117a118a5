import { z } from "zod";
import {
  integer as anyInteger,
  boolean,
  describeInput,
  digitsSchema,
  formSchema,
  PlainScalar,
  text as string,
  VARIABLE_SCHEMA,
} from "../../params/validators/scalars.ts";
import { oneLine } from "../problem.ts";
import { unknownMessage } from "../suggest.ts";

export { boolean as flag, string };

/** Options of every parse. Otherwise, zod compiles each schema to a function first, which pays off only for hundreds of files. */
export const PARSING = { jitless: true } as const;

export const enabled = boolean
  .prefault(true)
  .describe("Set it to false to turn this block off. A block that is present is on by default.");

export const nonEmptyString = string
  .refine((value) => value.trim() !== "", "expected a string, found nothing")
  .meta({ pattern: "\\S" });

export interface Bounds {
  readonly min?: number;
  readonly max?: number;
}

export function integer({ min = 0, max = Number.MAX_SAFE_INTEGER }: Bounds = {}) {
  const bounded = anyInteger.transform((value, context) => {
    if (value >= BigInt(min) && value <= BigInt(max)) return Number(value);
    const range = max === Number.MAX_SAFE_INTEGER ? `${min} or more` : `${min} to ${max}`;
    context.addIssue({ code: "custom", message: `expected an integer, ${range}, found '${value}'` });
    return z.NEVER;
  });
  return bounded.meta(digitsSchema({ minimum: min, ...(max < Number.MAX_SAFE_INTEGER && { maximum: max }) }));
}

export const port = integer({ max: 65_535 }).meta({ description: "0 means any free port." });

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A number and a unit, such as `5m`. Parsed to milliseconds. */
export const duration = durationOf(["s", "m", "h", "d"]);

/** Like `duration`, but also allows milliseconds. */
export const fineDuration = durationOf(["ms", "s", "m", "h", "d"]);

function durationOf(units: readonly string[]) {
  const shape = new RegExp(`^([0-9]{1,9})(${units.join("|")})$`);
  const inMilliseconds = string.transform((value, context) => {
    const match = shape.exec(value);
    const unit = UNITS[match?.[2] ?? ""];
    if (match !== null && unit !== undefined) return Number(match[1]) * unit;
    context.addIssue({
      code: "custom",
      message: `expected a duration such as 5m (a number, then one of ${units.join(", ")}), found '${value}'`,
    });
    return z.NEVER;
  });
  return inMilliseconds.meta(formSchema(`[0-9]{1,9}(?:${units.join("|")})`));
}

const SIZES: Readonly<Record<string, number>> = {
  "": 1,
  b: 1,
  kb: 1_000,
  mb: 1_000_000,
  gb: 1_000_000_000,
  kib: 1_024,
  mib: 1_048_576,
  gib: 1_073_741_824,
};

/** A number of bytes, with an optional unit, such as `64MiB`. */
export const bytes = string
  .transform((value, context) => {
    const match = /^([0-9]{1,12}) ?([kmg]?i?b)?$/i.exec(value);
    const unit = SIZES[(match?.[2] ?? "").toLowerCase()];
    if (match !== null && unit !== undefined) return Number(match[1]) * unit;
    context.addIssue({ code: "custom", message: `expected a number of bytes (1048576 or 1MiB), found '${value}'` });
    return z.NEVER;
  })
  .meta(
    formSchema("[0-9]{1,12} ?(?:[kKmMgG][iI]?[bB]|[bB])?", {
      type: ["integer", "string"],
      minimum: 0,
      maximum: 999_999_999_999,
    }),
  );

/** One of the words, case-sensitive. */
export function choice<const Words extends readonly string[]>(words: Words) {
  return pick<Words[number]>(words, (word, value) => word === value).meta({
    anyOf: [{ enum: words }, VARIABLE_SCHEMA],
  });
}

/** Like `choice`, but a word may be an HTTP status, which YAML reads as a number. */
export function status<const Words extends readonly string[]>(words: Words) {
  const values = words.flatMap((word) => (/^[0-9]+$/.test(word) ? [Number(word), word] : word));
  return choice(words).meta({ anyOf: [{ enum: values }, VARIABLE_SCHEMA] });
}

/** One of the words, case-insensitive. Returns the word as listed. */
export function choiceInAnyCase<const Words extends readonly string[]>(words: Words) {
  const letters = (word: string) =>
    word.replaceAll(/[a-z]/gi, (letter) => `[${letter.toLowerCase()}${letter.toUpperCase()}]`);
  return pick<Words[number]>(words, (word, value) => word.toLowerCase() === value.toLowerCase()).meta({
    anyOf: [{ enum: words }, formSchema(words.map(letters).join("|"))],
  });
}

function pick<Word extends string>(words: readonly Word[], isSame: (word: Word, value: string) => boolean) {
  return z.unknown().transform((input, context): Word => {
    const value = input instanceof PlainScalar ? input.source : input;
    const word = typeof value === "string" ? words.find((candidate) => isSame(candidate, value)) : undefined;
    if (word !== undefined) return word;
    const message =
      typeof value === "string" && value !== ""
        ? unknownMessage("value", value, words)
        : `expected one of ${words.join(", ")}, found ${describeInput(input)}`;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  });
}

/** A list. A key without a value is an empty list. */
export function list<Item extends z.ZodType>(item: Item) {
  return z.preprocess(
    (input) => (isNothing(input) ? [] : input),
    z.array(item, { error: ({ input }) => `expected a list, found ${describeInput(input)}` }),
  );
}

/** A list of strings, or a single one. */
export const strings = z.preprocess(toList, list(nonEmptyString));

/** A list of strings, or a single one. They may be empty. */
export const texts = z.preprocess(toList, list(string));

/** A list of the words, or a single one. */
export function choices<const Words extends readonly string[]>(words: Words) {
  return z.preprocess(toList, list(choice(words)));
}

function toList(input: unknown): unknown {
  if (typeof input === "string") return [input];
  return input instanceof PlainScalar && !isNothing(input) ? [input.source] : input;
}

/** A mapping with these keys and no others. */
export function block<Shape extends z.ZodRawShape>(shape: Shape) {
  const known = Object.keys(shape);
  return z.preprocess(
    unwrapScalar,
    z.strictObject(shape, {
      error: (issue) =>
        issue.code === "unrecognized_keys"
          ? keysOf(issue)
              // One line per key, even if the key contains line breaks.
              .map((key) => oneLine(unknownMessage("key", key, known)))
              .join("\n")
          : `expected a mapping, found ${describeInput(issue.input)}`,
    }),
  );
}

function keysOf(issue: { readonly keys?: unknown }): readonly string[] {
  return Array.isArray(issue.keys) ? issue.keys.map(String) : [];
}

/** A mapping that may have other keys, which are ignored. */
export function openBlock<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.preprocess(
    unwrapScalar,
    z.object(shape, { error: ({ input }) => `expected a mapping, found ${describeInput(input)}` }),
  );
}

/** A mapping with arbitrary keys. */
export function record<Value extends z.ZodType>(value: Value) {
  return z.preprocess(
    unwrapScalar,
    z.record(z.string(), value, { error: ({ input }) => `expected a mapping, found ${describeInput(input)}` }),
  );
}

/** zod treats every object as a mapping, even a PlainScalar. */
function unwrapScalar(input: unknown): unknown {
  if (isNothing(input)) return undefined;
  return input instanceof PlainScalar ? input.source : input;
}

function isNothing(input: unknown): boolean {
  return input instanceof PlainScalar && input.value === null;
}
