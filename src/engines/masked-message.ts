import type { Statement } from "../sql/statement.ts";

const MASK = "***";
/** If the values are longer in total, a message may quote parts of them: then only the kind of the error is shown. */
const MAX_VALUES_LENGTH = 1_000;
/** Shorter values are masked as whole words only: `a` is in most messages. */
const SHORTEST_PART = 4;

/** Text in quotes, even if the closing quote was cut off. An apostrophe in a word is not a quote. */
const QUOTED = /(?<!\w)'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|`[^`]*(?:`|$)/g;
/** `Key (email)=(...) already exists`, `Failing row contains (...)`. */
const ROW = /(=|contains )\((?:[\s\S]*\)|[\s\S]*$)/g;
const NUMBER = /(?<![\w.])\d+(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)/gi;
const NAME = /^[a-z_][\w.]*$/i;
const KIND = /^[^:'"\n]{1,60}(?=:)/;

/** A message from the database for logs, without the values of the failed statement or anything derived from them. */
export function maskedMessage(message: string, { sql, values }: Statement): string {
  const strings = values.flatMap(({ value }) => (value === null ? [] : String(value)));
  if (strings.reduce((sum, text) => sum + text.length, 0) > MAX_VALUES_LENGTH) {
    return `${KIND.exec(message)?.[0] ?? "Error"}: ${MASK}`;
  }
  const words = new Set(sql.toLowerCase().match(/\w+/g));
  // Integer values may be written into the SQL itself.
  const numbers = new Set([...words, ...strings.flatMap(partsOf)].map(Number));
  const masked = strings.length === 0 ? message : withoutValues(message, strings, words);
  return masked.replace(NUMBER, (digits) => (numbers.has(Number(digits)) ? MASK : digits));
}

function withoutValues(message: string, strings: readonly string[], words: ReadonlySet<string>): string {
  return withoutParts(message, strings)
    .replace(QUOTED, (part) => (isOwnName(part.slice(1, -1), words) ? part : `${part[0]}${MASK}${part[0]}`))
    .replace(ROW, `$1(${MASK})`);
}

/** Whether it is a name that the author of the SQL wrote. */
function isOwnName(text: string, words: ReadonlySet<string>): boolean {
  return (
    NAME.test(text) &&
    text
      .toLowerCase()
      .split(".")
      .every((part) => words.has(part))
  );
}

function withoutParts(message: string, strings: readonly string[]): string {
  const parts = [...new Set(strings.flatMap((text) => [text.trim(), ...partsOf(text)]))].filter((part) => part !== "");
  if (parts.length === 0) return message;
  const pattern = parts
    .sort((a, b) => b.length - a.length)
    .map((part) => {
      const escaped = part.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
      return part.length < SHORTEST_PART ? `(?<!\\w)${escaped}(?!\\w)` : escaped;
    })
    .join("|");
  return message.replace(new RegExp(pattern, "gi"), MASK);
}

/** The words of a value: a message may quote one of them. */
function partsOf(text: string): readonly string[] {
  return text.split(/[^\p{L}\p{N}_.@+-]+/u).filter((part) => part !== "");
}
