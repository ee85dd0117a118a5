import { z } from "zod";

export interface JsonSchema {
  readonly [key: string]: unknown;
}

/** A variable of the environment may stand for any value, or for a part of it. */
const VARIABLE = "\\$\\{[^}]*\\}|\\{\\{ *env\\.";

/** Another file may bring in what is no scalar. */
export const INCLUDE = "^\\{\\{ *include";

const REFERENCE: JsonSchema = { type: "string", pattern: VARIABLE };

/** What is not text in YAML counts as the characters it was written in. */
export const SCALARS: readonly string[] = ["string", "number", "boolean"];
export const TEXT: JsonSchema = { type: SCALARS };

/** Text in a form. A pattern is about text alone, so that plain numbers have their own bounds beside it. */
function inForm(pattern: string, others: JsonSchema = {}): JsonSchema {
  return { type: "string", pattern: `^(?:${pattern})$|${VARIABLE}`, ...others };
}

const FLAG: JsonSchema = inForm("true|false", { type: ["boolean", "string"] });

function wholeSchema(bounds: { readonly minimum?: number; readonly maximum?: number }): JsonSchema {
  const sign = (bounds.minimum ?? -1) < 0 ? "[+-]?" : "\\+?";
  return inForm(`${sign}[0-9]+`, { type: ["integer", "string"], ...bounds });
}

/**
 * The messages of scalar schemas for a missing and for a wrong value, with what each means. Scalars are read by code, so
 * their messages are the only description of what they accept.
 */
const answers: readonly (readonly [answer: RegExp, schema: (match: RegExpExecArray, ask: Ask) => JsonSchema])[] = [
  [/^expected a duration, a number and one of ([a-z, ]+) \(5m\)/, ([, units = ""]) => durationSchema(units)],
  [/^expected a number of bytes/, () => inForm("[0-9]{1,12} ?(?:[kKmMgG][iI]?[bB]|[bB])?", BYTES)],
  [/^expected a date YYYY-MM-DD/, () => inForm("[0-9]{4}-[0-9]{2}-[0-9]{2}")],
  [/^expected a time HH:MM:SS/, () => inForm("[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\\.[0-9]{1,9})?")],
  [/^expected letters, digits and underscores only/, () => inForm("[A-Za-z0-9_]+", { type: NAMES, minimum: 0 })],
  [/^expected a media type/, () => inForm("[\\w.+-]+/[\\w.+-]+(?:\\s*;.*)?")],
  [/^expected a number from 0 to 1/, () => inForm("0(?:\\.[0-9]+)?|1(?:\\.0+)?", RATIO)],
  [/^expected one of (.*), found nothing$/, ([, words = ""], ask) => choiceSchema(words.split(", "), ask)],
  [/^expected an integer/, (_, ask) => wholeSchema(boundsOf(ask))],
  [/^expected a number, found nothing$/, () => inForm(NUMBER, { type: ["number", "string"] })],
  [/^expected true or false/, () => FLAG],
  [/^expected a string, found nothing$/, (_, ask) => (ask("") === undefined ? TEXT : { ...TEXT, pattern: "\\S" })],
  [/^expected the value of a DuckDB setting/, () => ({ type: [...SCALARS, "array"], items: { type: "string" } })],
];

const BYTES: JsonSchema = { type: ["integer", "string"], minimum: 0, maximum: 999_999_999_999 };
const NAMES = ["string", "integer", "boolean"];
const RATIO: JsonSchema = { type: ["number", "string"], minimum: 0, maximum: 1 };
const NUMBER = "[+-]?(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?";

const NONSENSE = "?!";

/** What a schema says to a value; undefined when it takes it. */
type Ask = (value: unknown) => string | undefined;

/** JSON Schema of a scalar, as it answers. Undefined for a validator, which is no scalar. */
export function scalarSchema(schema: z.core.$ZodType): JsonSchema | undefined {
  const ask: Ask = (value) => z.safeParse(schema, value).error?.issues[0]?.message;
  const nothing = ask(undefined) ?? "";
  if (nothing.startsWith("expected a mapping with a type")) return undefined;
  // What reads a text first says so to nothing, and what it makes of the text to nonsense.
  for (const answer of [ask(NONSENSE) ?? "", nothing]) {
    for (const [shape, meaning] of answers) {
      const match = shape.exec(answer);
      if (match !== null) return meaning(match, ask);
    }
  }
  throw new Error(`a schema that no editor could be told of: ${nothing}`);
}

function durationSchema(units: string): JsonSchema {
  return inForm(`[0-9]{1,9}(?:${units.replaceAll(", ", "|")})`);
}

/** Words to the letter, or in any case. */
function choiceSchema(words: readonly string[], ask: Ask): JsonSchema {
  const [first = ""] = words;
  const swapped = first === first.toLowerCase() ? first.toUpperCase() : first.toLowerCase();
  const others = ask(swapped) === undefined ? [inForm(words.map(inAnyCase).join("|"))] : [REFERENCE];
  return { anyOf: [{ enum: words }, ...others] };
}

function inAnyCase(word: string): string {
  return word.replaceAll(/[a-z]/gi, (letter) => `[${letter.toLowerCase()}${letter.toUpperCase()}]`);
}

const FAR = 10n ** 18n;

/** The bounds are in the answer to a number beyond them. */
function boundsOf(ask: Ask): { readonly minimum?: number; readonly maximum?: number } {
  const [least] = /\d+(?= (?:or more|to))/.exec(ask(`${-FAR}`) ?? "") ?? [];
  const [greatest] = /(?<= to )\d+/.exec(ask(`${FAR}`) ?? "") ?? [];
  return {
    ...(least === undefined ? {} : { minimum: Number(least) }),
    ...(greatest === undefined ? {} : { maximum: Number(greatest) }),
  };
}
