import type { Dialect } from "./dialect.ts";

/** The lexer state at a character of SQL. */
export type Mode =
  | { readonly kind: "bare" }
  | { readonly kind: "line-comment" }
  | { readonly kind: "block-comment"; readonly depth: number }
  | { readonly kind: "identifier" }
  | { readonly kind: "string"; readonly style: StringStyle };

/** How a string literal was opened. `delimiter` ends a dollar-quoted one. */
export type StringStyle =
  | { readonly kind: "standard" }
  | { readonly kind: "escape" }
  | { readonly kind: "dollar"; readonly delimiter: string };

export const BARE: Mode = { kind: "bare" };

/** A token of bare SQL. `length` is how much of the text it covers. */
export type BareToken =
  | { readonly kind: "space"; readonly length: number }
  | { readonly kind: "word"; readonly length: number }
  | { readonly kind: "symbol"; readonly length: number }
  /** `length` is that of the opening quote with its prefix. */
  | { readonly kind: "open-string"; readonly length: number; readonly style: StringStyle }
  | { readonly kind: "open-identifier"; readonly length: number }
  | { readonly kind: "open-line-comment"; readonly length: number }
  | { readonly kind: "open-block-comment"; readonly length: number }
  | { readonly kind: "placeholder"; readonly length: number };

const SPACE = /\s+/y;
/** A name or a number. A number ends where its digits do: `1E'x'` is a number and a literal with escapes. */
const WORD = /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*|0[xX][\da-fA-F_]+|\d[\d_]*(?:\.[\d_]*)?(?:[eE][+-]?\d[\d_]*)?/y;
const DOLLAR_OPEN = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y;
const PLACEHOLDER = /\$\w*/y;

/** Reads one token of bare SQL at `at`. */
export function readBareToken(text: string, at: number, dialect: Dialect): BareToken {
  const character = text[at] ?? "";
  const next = text[at + 1] ?? "";
  if (character === "'") return { kind: "open-string", length: 1, style: { kind: "standard" } };
  if (next === "'" && dialect.escapePrefixes.has(character.toLowerCase())) {
    return { kind: "open-string", length: 2, style: { kind: "escape" } };
  }
  if (character === '"') return { kind: "open-identifier", length: 1 };
  if (character === "-" && next === "-") return { kind: "open-line-comment", length: 2 };
  if (character === "/" && next === "*") return { kind: "open-block-comment", length: 2 };
  const space = matchLength(SPACE, text, at);
  if (space > 0) return { kind: "space", length: space };
  const word = matchLength(WORD, text, at);
  if (word > 0) return { kind: "word", length: word };
  const dollar = dialect.dollarQuotes ? matchLength(DOLLAR_OPEN, text, at) : 0;
  if (dollar > 0) {
    return { kind: "open-string", length: dollar, style: { kind: "dollar", delimiter: text.slice(at, at + dollar) } };
  }
  const placeholder = matchLength(PLACEHOLDER, text, at);
  if (placeholder > 0) return { kind: "placeholder", length: placeholder };
  if (character === "?" && dialect.questionMarks) return { kind: "placeholder", length: 1 };
  return { kind: "symbol", length: 1 };
}

function matchLength(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex - at : 0;
}

/** The rest of a string literal: its value, and where it ends. */
export interface StringRest {
  readonly value: string;
  /** The index after the closing quote. Undefined if the text ends before it. */
  readonly end: number | undefined;
}

export function readString(text: string, at: number, style: StringStyle): StringRest {
  switch (style.kind) {
    case "dollar": {
      const end = text.indexOf(style.delimiter, at);
      if (end < 0) return { value: text.slice(at), end: undefined };
      return { value: text.slice(at, end), end: end + style.delimiter.length };
    }
    case "standard":
      return readQuoted(text, at, "'");
    case "escape":
      return readEscaped(text, at);
  }
}

/** Reads the rest of `'...'` or `"..."`, in which a doubled quote is an escaped one. */
export function readQuoted(text: string, at: number, quote: string): StringRest {
  let value = "";
  let from = at;
  for (;;) {
    const end = text.indexOf(quote, from);
    if (end < 0) return { value: value + text.slice(from), end: undefined };
    value += text.slice(from, end);
    if (text[end + 1] !== quote) return { value, end: end + 1 };
    value += quote;
    from = end + 2;
  }
}

const ESCAPE = /\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\s\S]))/y;
const NAMED_ESCAPES: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

function readEscaped(text: string, at: number): StringRest {
  let value = "";
  let i = at;
  while (i < text.length) {
    const character = text[i] ?? "";
    if (character === "'") {
      if (text[i + 1] !== "'") return { value, end: i + 1 };
      value += "'";
      i += 2;
      continue;
    }
    ESCAPE.lastIndex = i;
    const escaped = character === "\\" ? ESCAPE.exec(text) : null;
    if (escaped === null) {
      value += character;
      i += 1;
      continue;
    }
    const [whole, octal, hex, short, long, other] = escaped;
    if (octal !== undefined) value += String.fromCharCode(Number.parseInt(octal, 8));
    else if (other !== undefined) value += NAMED_ESCAPES[other] ?? other;
    else value += characterOf(Number.parseInt(hex ?? short ?? long ?? "0", 16));
    i += whole.length;
  }
  return { value, end: undefined };
}

/** Invalid code points become the replacement character. */
function characterOf(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : "\ufffd";
}

/** Reads the rest of a comment, up to its end or the end of `text`. Returns that index, and the mode after it. */
export function readComment(
  text: string,
  at: number,
  mode: Extract<Mode, { kind: "line-comment" | "block-comment" }>,
  dialect: Dialect,
): { readonly mode: Mode; readonly end: number } {
  if (mode.kind === "line-comment") {
    const end = text.slice(at).search(/[\r\n]/);
    return end < 0 ? { mode, end: text.length } : { mode: BARE, end: at + end };
  }
  let depth = mode.depth;
  let i = at;
  while (i < text.length) {
    if (text.startsWith("*/", i)) {
      depth -= 1;
      i += 2;
      if (depth === 0) return { mode: BARE, end: i };
    } else if (dialect.nestedComments && text.startsWith("/*", i)) {
      depth += 1;
      i += 2;
    } else {
      i += 1;
    }
  }
  return { mode: { kind: "block-comment", depth }, end: i };
}
