import { MAX_UNSLICED, runAtOnce, type Sliced } from "../slices.ts";
import {
  AFTER_COMMENT,
  AFTER_QUOTE,
  ANYWHERE,
  AT_START,
  BEGINNINGS,
  CLOSING,
  CLOSING_TIGHTLY,
  OUTSIDE,
  QUOTED_WORD,
  SEPARATING,
  STATEMENT,
  STATEMENT_OUTSIDE,
  UNION,
  WHITE_SPACE,
} from "./injection-shapes.ts";

const MAY_BE_INJECTION = /['";=(]|union/i;
const QUOTE = /['"]/;

const SINGLE = 39;
const DOUBLE = 34;
const DASH = 45;
const HASH = 35;
const SEMICOLON = 59;

/** Characters or matches to check before yielding to other requests. */
const STEP = 1_024;

/** Scans without yielding, for short text, or text that does not come from a client. */
export function looksLikeInjection(text: string): boolean {
  return runAtOnce(scanForInjection(text));
}

/**
 * Whether text looks like an SQL injection. This is a second line of defence: values never become SQL, so in doubt, text is
 * accepted. To distinguish `'; DROP TABLE x` from `rock 'n' roll; drop by`, it counts quotes. If the text were
 * inserted into a quoted literal, only parts after an odd number of quotes would be SQL.
 */
export function* scanForInjection(text: string): Sliced<boolean> {
  if (!MAY_BE_INJECTION.test(text)) return false;
  const plain = yield* withSingleSpaces(yield* withoutComments(text));
  if (matchesAt(AT_START, plain, 0) || (yield* hasUnionAttack(plain))) return true;
  if (!QUOTE.test(text)) return false;
  return (yield* hasQuoteAttack(text, opensComment)) || (yield* hasQuoteAttack(plain, breaksOut));
}

function* hasUnionAttack(text: string): Sliced<boolean> {
  let found = 0;
  for (let at = nextMatch(UNION, text, 0); at >= 0; at = nextMatch(UNION, text, at + 1)) {
    if (matchesAt(ANYWHERE, text, at)) return true;
    if (++found % STEP === 0) yield;
  }
  return false;
}

/** `isOutside`: the quote would end a literal, so the text after it would be SQL. */
type IsAttack = (text: string, index: number, isOutside: boolean) => boolean;

/** Whether one of the quotes starts an attack. Single and double quotes are counted separately. */
function* hasQuoteAttack(text: string, isAttack: IsAttack): Sliced<boolean> {
  const quotes: Quotes = { at: 0, singles: 0, doubles: 0 };
  while (quotes.at < text.length) {
    if (checkNextQuotes(text, quotes, isAttack)) return true;
    yield;
  }
  return false;
}

/** The quotes counted so far. */
interface Quotes {
  at: number;
  singles: number;
  doubles: number;
}

/** Checks the quotes in the next characters. Not a generator, because generators are slower. */
function checkNextQuotes(text: string, quotes: Quotes, isAttack: IsAttack): boolean {
  const end = Math.min(text.length, quotes.at + STEP);
  for (let index = quotes.at; index < end; index++) {
    const code = text.charCodeAt(index);
    if (code !== SINGLE && code !== DOUBLE) continue;
    const count = code === SINGLE ? ++quotes.singles : ++quotes.doubles;
    if (isAttack(text, index, count % 2 === 1)) return true;
  }
  quotes.at = end;
  return false;
}

const closing = charactersOf(" )]");
const beginnings = charactersOf(BEGINNINGS);
const commentOpeners = charactersOf("-#/");

function opensComment(text: string, index: number, isOutside: boolean): boolean {
  if (!isOutside) return false;
  const afterClosing = isOneOf(closing, text, index + 1) ? endAt(CLOSING_TIGHTLY, text, index + 1) : index + 1;
  const at = skipSpace(text, afterClosing);
  if (!isOneOf(commentOpeners, text, at)) return false;
  return isComment(text, at, at === afterClosing) && !matchesAt(QUOTED_WORD, text, index);
}

/** Unless dashes directly follow the quote, nothing may follow the start of a line comment. */
function isComment(text: string, at: number, isTight: boolean): boolean {
  if (text.startsWith("/*", at)) return true;
  const isDashes = text.startsWith("--", at);
  if (isDashes && isTight) return true;
  if (!isDashes && text.charCodeAt(at) !== HASH) return false;
  return endAt(AFTER_COMMENT, text, at + 1) === text.length;
}

function breaksOut(text: string, index: number, isOutside: boolean): boolean {
  const afterClosing = isOneOf(closing, text, index + 1) ? endAt(CLOSING, text, index + 1) : index + 1;
  if (text.charCodeAt(afterClosing) === SEMICOLON) {
    const at = endAt(SEPARATING, text, afterClosing);
    return matchesAt(STATEMENT, text, at) || (isOutside && matchesAt(STATEMENT_OUTSIDE, text, at));
  }
  if (!isOneOf(beginnings, text, afterClosing)) return false;
  return matchesAt(AFTER_QUOTE, text, afterClosing) || (isOutside && matchesAt(OUTSIDE, text, afterClosing));
}

/** A set of ASCII characters. Faster than a regular expression, which matters for a million checks. */
type Characters = readonly boolean[];

function charactersOf(characters: string): Characters {
  return Array.from({ length: 128 }, (_, code) => characters.includes(String.fromCharCode(code)));
}

function isOneOf(characters: Characters, text: string, at: number): boolean {
  return characters[text.charCodeAt(at)] === true;
}

function skipSpace(text: string, from: number): number {
  const code = text.charCodeAt(from);
  if (code > 0x20 && code < 0x80) return from;
  return endAt(WHITE_SPACE, text, from);
}

/** Replaces block comments with spaces. MySQL executes `/*!50000 ... *\/`, so its content stays. */
function* withoutComments(text: string): Sliced<string> {
  let start = text.indexOf("/*");
  if (start === -1) return yield* withoutLineComments(text);
  let kept = "";
  let from = 0;
  for (let count = 1; start !== -1; count++) {
    const end = text.indexOf("*/", start + 2);
    if (end === -1) break;
    const inside = text.charAt(start + 2) === "!" ? text.slice(start + 3, end).replace(/^\d+/, "") : "";
    kept += `${text.slice(from, start)} ${inside} `;
    from = end + 2;
    start = text.indexOf("/*", from);
    if (count % STEP === 0) yield;
  }
  return yield* withoutLineComments(kept + text.slice(from));
}

/** A line comment counts only after one of these words, and only if its line is short. */
const BEFORE_COMMENT = /\b(?:union|all|distinct)\s{0,8}$/i;
const BEFORE_COMMENT_LENGTH = "_distinct".length + 8;
const MAX_LINE_LENGTH = 128;
/** Characters that cannot precede such a comment. */
const neverBeforeComment = charactersOf(
  "-#abcdefghijkmopqrsuvwxyzABCDEFGHIJKMOPQRSUVWXYZ0123456789'\"()[]{}<>=+*/\\.,:;!?_%&|@$^~`",
);

/** Removes line comments between UNION and SELECT. Elsewhere, two dashes are usually prose. */
function* withoutLineComments(text: string): Sliced<string> {
  let kept = "";
  let from = 0;
  for (let at = 1; at < text.length; ) {
    at = nextCommentStart(text, at, at + MAX_UNSLICED);
    yield;
    const before = text.slice(Math.max(from, at - BEFORE_COMMENT_LENGTH), at);
    const inside = at + (text.charCodeAt(at) === HASH ? 1 : 2);
    const lineLength = text.slice(inside, inside + MAX_LINE_LENGTH + 1).indexOf("\n");
    if (!mayStartComment(text, at) || lineLength < 0 || !BEFORE_COMMENT.test(before)) {
      at++;
      continue;
    }
    kept += `${text.slice(from, at).trimEnd()} `;
    from = inside + lineLength + 1;
    at = from + 1;
  }
  return from === 0 ? text : kept + text.slice(from);
}

/** The next index before `end` where such a comment may start, otherwise `end`. */
function nextCommentStart(text: string, from: number, end: number): number {
  for (let at = from; at < end; at++) if (mayStartComment(text, at)) return at;
  return end;
}

function mayStartComment(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code !== HASH && (code !== DASH || text.charCodeAt(at + 1) !== DASH)) return false;
  return !isOneOf(neverBeforeComment, text, at - 1);
}

const SPACES = /[\s\p{Cc}]+/gu;

function* withSingleSpaces(text: string): Sliced<string> {
  if (text.length <= MAX_UNSLICED) return text.replace(SPACES, " ");
  let plain = "";
  for (let from = 0; from < text.length; from += MAX_UNSLICED) {
    const part = text.slice(from, from + MAX_UNSLICED).replace(SPACES, " ");
    plain += plain.endsWith(" ") && part.startsWith(" ") ? part.slice(1) : part;
    yield;
  }
  return plain;
}

/** Whether a sticky expression matches at an index. */
function matchesAt(expression: RegExp, text: string, index: number): boolean {
  expression.lastIndex = index;
  return expression.test(text);
}

/** The end of the match of a sticky expression at an index. Without a match, the index. */
function endAt(expression: RegExp, text: string, index: number): number {
  return matchesAt(expression, text, index) ? expression.lastIndex : index;
}

/** The index of the next match of a global expression, or -1. */
function nextMatch(expression: RegExp, text: string, from: number): number {
  expression.lastIndex = from;
  return expression.exec(text)?.index ?? -1;
}
