import type { Sliced } from "../slices.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
/** The difference between the codes of an opening and a closing bracket. */
const TO_CLOSING = 2;
const SPACE = 0x20;

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const NOT_SPACE = /[^\t\n\r ]/g;
const WORDS = ["true", "false", "null"] as const;

/** Characters to read before yielding to other requests. */
const STEP = 4_096;
/** Longer names are not decoded, because no parameter has one. */
const MAX_NAME = 16 * 1024;

/** Called for each entry of the outermost object or array, with the range of its value and, in an object, its name. */
export type OnEntry = (start: number, end: number, name: string | undefined) => void;

/**
 * Checks JSON as strictly as `JSON.parse`, and returns its kind. Undefined if the text is not JSON. Creates no values, so
 * numbers keep their digits and nested values need no memory. Never recurses.
 */
export function* scanJson(text: string, onEntry: OnEntry): Sliced<JsonKind | undefined> {
  /** The expected closing brackets, the innermost last. There may be millions. */
  let closing = new Uint8Array(64);
  let depth = 0;
  let at = skipSpace(text, 0);
  const kind = kindAt(text, at);
  let pause = at + STEP;
  let name: string | undefined;
  let start = at;
  for (;;) {
    if (at > pause) {
      yield;
      pause = at + STEP;
    }
    if (depth > 0 && closing[depth - 1] === CLOSE_BRACE) {
      const end = yield* endOfString(text, at);
      if (end < 0) return undefined;
      if (depth === 1) name = decodeName(text.slice(at, end));
      at = skipSpace(text, end);
      if (text.charCodeAt(at) !== COLON) return undefined;
      at = skipSpace(text, at + 1);
    }
    // A value starts here.
    if (depth === 1) start = at;
    const code = text.charCodeAt(at);
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      at = skipSpace(text, at + 1);
      if (text.charCodeAt(at) !== code + TO_CLOSING) {
        if (depth === closing.length) closing = twiceAsLong(closing);
        closing[depth++] = code + TO_CLOSING;
        continue;
      }
      at++;
    } else {
      at = code === QUOTE ? yield* endOfString(text, at) : endOfWord(text, at);
      if (at < 0) return undefined;
    }
    // The value ends here, and perhaps some of its parents do too.
    for (;;) {
      if (depth === 0) return skipSpace(text, at) === text.length ? kind : undefined;
      if (depth === 1) onEntry(start, at, name);
      if (at > pause) {
        yield;
        pause = at + STEP;
      }
      at = skipSpace(text, at) + 1;
      const separator = text.charCodeAt(at - 1);
      if (separator === COMMA) break;
      if (separator !== closing[--depth]) return undefined;
    }
    at = skipSpace(text, at);
  }
}

function twiceAsLong(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const longer = new Uint8Array(2 * bytes.length);
  longer.set(bytes);
  return longer;
}

export type JsonKind = "object" | "array" | "scalar";

function kindAt(text: string, at: number): JsonKind {
  const code = text.charCodeAt(at);
  if (code === OPEN_BRACE) return "object";
  return code === OPEN_BRACKET ? "array" : "scalar";
}

/** Skips the four white space characters of JSON. */
function skipSpace(text: string, from: number): number {
  if (!(text.charCodeAt(from) <= SPACE)) return from;
  NOT_SPACE.lastIndex = from;
  return NOT_SPACE.test(text) ? NOT_SPACE.lastIndex - 1 : text.length;
}

/** The index after a number or a word, or -1. */
function endOfWord(text: string, at: number): number {
  NUMBER.lastIndex = at;
  if (NUMBER.test(text)) return NUMBER.lastIndex;
  const word = WORDS.find((each) => text.startsWith(each, at));
  return word === undefined ? -1 : at + word.length;
}

/** The index after the closing quote, or -1 if there is no valid string. */
function* endOfString(text: string, start: number): Sliced<number> {
  if (text.charCodeAt(start) !== QUOTE) return -1;
  let at = start + 1;
  for (;;) {
    at = scanStringPart(text, at, at + LONG_STEP);
    if (at < 0) return -1;
    if (text.charCodeAt(at) === QUOTE) return at + 1;
    yield;
  }
}

/** Characters of a string to read before yielding to other requests. */
const LONG_STEP = 64 * 1024;

/** The index of the closing quote, or the first index at or after `end` that is not inside an escape. -1 if the string is invalid. */
function scanStringPart(text: string, from: number, end: number): number {
  let at = from;
  while (at < end) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    const length = code === BACKSLASH ? escapeLength(text, at) : code >= SPACE ? 1 : 0;
    if (length === 0) return -1;
    at += length;
  }
  return at;
}

const HEXADECIMAL = /[0-9a-fA-F]{4}/y;

/** 0 if the escape is invalid. */
function escapeLength(text: string, at: number): number {
  const letter = text.charAt(at + 1);
  if (letter !== "u") return letter !== "" && '"\\/bfnrt'.includes(letter) ? 2 : 0;
  HEXADECIMAL.lastIndex = at + 2;
  return HEXADECIMAL.test(text) ? 6 : 0;
}

function decodeName(quoted: string): string {
  return quoted.length > MAX_NAME || !quoted.includes("\\") ? quoted.slice(1, -1) : JSON.parse(quoted);
}

/** Decodes a JSON string. `quoted` includes its quotes. */
export function* decodeString(quoted: string): Sliced<string> {
  if (!quoted.includes("\\")) return quoted.slice(1, -1);
  const end = quoted.length - 1;
  let decoded = "";
  for (let from = 1; from < end; ) {
    const to = nextBoundary(quoted, from, Math.min(end, from + LONG_STEP));
    decoded += JSON.parse(`"${quoted.slice(from, to)}"`);
    from = to;
    if (from < end) yield;
  }
  return decoded;
}

/** The first index at or after `to` that is not inside an escape. `from` must not be inside one. */
function nextBoundary(text: string, from: number, to: number): number {
  let at = from;
  for (let mark = text.indexOf("\\", at); mark >= 0 && mark < to; mark = text.indexOf("\\", at)) {
    at = mark + (text.charAt(mark + 1) === "u" ? 6 : 2);
  }
  return Math.max(at, to);
}
