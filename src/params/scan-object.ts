import type { RawValue } from "./parameter.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** Ends a number, `true`, `false` or `null`. */
const DELIMITER = /[\s,}]/g;
const NOT_SPACE = /[^\t\n\r ]/g;

/**
 * Reads the top-level members of a text that is known to be a JSON object. The last of repeated names wins, as for
 * `JSON.parse`; `null` counts as absent. Nothing here recurses: a client may nest as deep as its body is long.
 */
export function scanObject(text: string, into: Map<string, RawValue>): void {
  let index = next(NOT_SPACE, text, next(NOT_SPACE, text, 0) + 1);
  while (text.charCodeAt(index) === QUOTE) {
    const nameEnd = endOfString(text, index);
    const name = decodeString(text, index, nameEnd);
    const colon = next(NOT_SPACE, text, nameEnd);
    const start = next(NOT_SPACE, text, colon + 1);
    const end = endOfValue(text, start);
    const value = readValue(text, start, end);
    if (value === undefined) into.delete(name);
    else into.set(name, value);
    const comma = next(NOT_SPACE, text, end);
    index = next(NOT_SPACE, text, comma + 1);
  }
}

function readValue(text: string, start: number, end: number): RawValue | undefined {
  switch (text.charCodeAt(start)) {
    case QUOTE:
      return { kind: "text", text: decodeString(text, start, end) };
    case OPEN_BRACE:
    case OPEN_BRACKET:
      return { kind: "json", text: text.slice(start, end) };
    default: {
      const word = text.slice(start, end);
      return word === "null" ? undefined : { kind: "text", text: word };
    }
  }
}

function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfString(text, start);
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return endOfNested(text, start);
  return next(DELIMITER, text, start);
}

function endOfNested(text: string, start: number): number {
  let depth = 0;
  let index = start;
  do {
    const code = text.charCodeAt(index);
    if (code === QUOTE) {
      index = endOfString(text, index);
      continue;
    }
    if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
    index++;
  } while (depth > 0);
  return index;
}

/** The place after the closing quote. */
function endOfString(text: string, start: number): number {
  let index = start + 1;
  for (let code = text.charCodeAt(index); code !== QUOTE; code = text.charCodeAt(index)) {
    index += code === BACKSLASH ? 2 : 1;
  }
  return index + 1;
}

function decodeString(text: string, start: number, end: number): string {
  const inside = text.slice(start + 1, end - 1);
  return inside.includes("\\") ? JSON.parse(`"${inside}"`) : inside;
}

/** Where a global expression next matches, or the end of the text. */
function next(expression: RegExp, text: string, from: number): number {
  expression.lastIndex = from;
  return expression.test(text) ? expression.lastIndex - 1 : text.length;
}
