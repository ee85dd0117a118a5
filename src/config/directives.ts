/**
 * `{{env.X}}`, `${X}` and `{{include:...}}` are not always valid YAML. Before parsing, each is replaced by a token of the same
 * length. So positions stay correct, and neither the directive nor its value can change the structure. Tokens consist of
 * Unicode noncharacters, which do not occur in text.
 */
const MARK = "\uFDD0";
const FILL = "\uFDEF";
const FIRST_DIGIT = 0xfdd1;
const BASE = 30;
const RESERVED = /[\uFDD0-\uFDEF]/;
const TOKEN = /\uFDD0([\uFDD1-\uFDEE]+)\uFDEF*/g;

/** For text with characters that would be mistaken for a token. */
export const RESERVED_MESSAGE =
  "contains a character from U+FDD0 to U+FDEF, which Unicode reserves for internal use; remove it";

const NAME = "[A-Za-z_][A-Za-z0-9_]*";
const INSIDE = "(?:[^{}\\r\\n]|\\$\\{[^{}\\r\\n]*\\}|\\{\\{[^{}\\r\\n]*\\}\\})*";
const DIRECTIVE = new RegExp(
  `\\{\\{\\{\\s*env\\.[^{}\\r\\n]*\\}\\}\\}|\\{\\{\\s*(?:env\\.|include\\b)${INSIDE}\\}\\}|\\$\\{${NAME}\\}`,
  "g",
);
const ENV = new RegExp(`^(?:\\$\\{(${NAME})\\}|\\{{2,3}\\s*env\\.(${NAME})\\s*\\}{2,3})$`);
const INCLUDE = new RegExp(
  `^\\{\\{\\s*include(?:\\s*:\\s*([A-Za-z0-9_-]+))?\\s+from\\s+(\\S.*?)(?:\\s+if\\s+(!?)\\s*env\\.(${NAME}))?\\s*\\}\\}$`,
);

export type Directive =
  | { readonly kind: "env"; readonly text: string; readonly name: string }
  | { readonly kind: "include"; readonly text: string; readonly include: Include }
  | { readonly kind: "malformed"; readonly text: string };

/** `{{include:section from path if env.X}}`. Without a section, it includes the whole file. */
export interface Include {
  readonly section: string | undefined;
  /** As written. May contain environment references. */
  readonly path: string;
  readonly condition: { readonly name: string; readonly mustBeSet: boolean } | undefined;
}

export interface MaskedText {
  /** Every line is as long as in the original. */
  readonly text: string;
  readonly directives: readonly Directive[];
  /** Set if the text cannot be read. */
  readonly rejection: { readonly offset: number; readonly message: string } | undefined;
}

export type Part = { readonly kind: "text"; readonly text: string } | Directive;

export function maskDirectives(original: string): MaskedText {
  const reserved = original.search(RESERVED);
  if (reserved >= 0) return rejectText(reserved, RESERVED_MESSAGE);
  if (!original.includes("{{") && !original.includes("${")) {
    return { text: original, directives: [], rejection: undefined };
  }
  const directives: Directive[] = [];
  const text = original.replace(DIRECTIVE, (match, offset: number) => {
    directives.push(parseDirective(match));
    const token = tokenOf(directives.length - 1);
    // On a line of its own, an include is a top-level entry, so its token becomes the key.
    return isIncludeLine(original, offset, match.length)
      ? `${token.padEnd(match.length - 1, FILL)}:`
      : token.padEnd(match.length, FILL);
  });
  if (text.length === original.length) return { text, directives, rejection: undefined };
  return rejectText(0, "too many environment references and includes in one file; split the file");
}

function rejectText(offset: number, message: string): MaskedText {
  return { text: "", directives: [], rejection: { offset, message } };
}

/** Splits a parsed scalar or key into text and directives. */
export function splitText(value: string, directives: readonly Directive[]): readonly Part[] {
  return cut(value, TOKEN, ([, digits = ""]) => directives[decodeIndex(digits)]);
}

/** Splits text that was not parsed as YAML, such as the path of an include. */
export function splitReferences(text: string): readonly Part[] {
  return cut(text, DIRECTIVE, ([directive]) => parseDirective(directive));
}

function cut(
  text: string,
  pattern: RegExp,
  directiveOf: (match: RegExpExecArray) => Directive | undefined,
): readonly Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    const directive = directiveOf(match);
    if (directive === undefined) continue;
    if (match.index > end) parts.push({ kind: "text", text: text.slice(end, match.index) });
    parts.push(directive);
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push({ kind: "text", text: text.slice(end) });
  return parts;
}

export function containsToken(value: string): boolean {
  return value.includes(MARK);
}

export function countReserved(value: string): number {
  let count = 0;
  for (const character of value) if (RESERVED.test(character)) count++;
  return count;
}

/** The text as it was before masking. */
export function unmask(value: string, directives: readonly Directive[]): string {
  if (!containsToken(value)) return value;
  return splitText(value, directives)
    .map((part) => part.text)
    .join("");
}

function parseDirective(text: string): Directive {
  const env = ENV.exec(text);
  const name = env?.[1] ?? env?.[2];
  if (name !== undefined) return { kind: "env", text, name };
  const include = INCLUDE.exec(text);
  const path = include?.[2];
  if (include === null || path === undefined) return { kind: "malformed", text };
  const variable = include[4];
  const condition = variable === undefined ? undefined : { name: variable, mustBeSet: include[3] !== "!" };
  return { kind: "include", text, include: { section: include[1], path, condition } };
}

function isIncludeLine(text: string, offset: number, length: number): boolean {
  if (!/^\{\{\s*include\b/.test(text.slice(offset, offset + 40))) return false;
  const startsLine = offset === 0 || text[offset - 1] === "\n" || text[offset - 1] === "\uFEFF";
  return startsLine && /^[ \t]*(?:\r?\n|$|[ \t]#)/.test(text.slice(offset + length));
}

function tokenOf(index: number): string {
  let digits = "";
  let rest = index;
  do {
    digits = String.fromCharCode(FIRST_DIGIT + (rest % BASE)) + digits;
    rest = Math.floor(rest / BASE);
  } while (rest > 0);
  return MARK + digits;
}

function decodeIndex(digits: string): number {
  let index = 0;
  for (const digit of digits) index = index * BASE + (digit.charCodeAt(0) - FIRST_DIGIT);
  return index;
}
