import { AFTER_QUOTE, ANYWHERE, AT_START, COMMENT_OUTSIDE, OUTSIDE, QUOTED_WORD } from "./injection-shapes.ts";

const WORTH_A_LOOK = /['";=(]|union/i;
const QUOTE = /['"]/;

const SINGLE = 39;
const DOUBLE = 34;

/**
 * True for text in the shape of an SQL injection. A second line of defence: values never become SQL, so that it may
 * err on the side of honest text. To tell `'; DROP TABLE x` from `rock 'n' roll; drop by`, it follows the quotes as a
 * database would if the text stood between quotes: only what comes after an odd number of them would be SQL. Spec 2.3.
 */
export function looksLikeInjection(text: string): boolean {
  if (!WORTH_A_LOOK.test(text)) return false;
  const plain = withoutComments(text).replace(/[\s\p{Cc}]+/gu, " ");
  if (ANYWHERE.test(plain) || matchesAt(AT_START, plain, 0)) return true;
  if (!QUOTE.test(text)) return false;
  return someQuote(text, opensComment) || someQuote(plain, breaksOut);
}

/** Whether one of the quotes starts an attack. Single and double quotes are counted apart. */
function someQuote(text: string, isAttack: (text: string, index: number, isOutside: boolean) => boolean): boolean {
  let singles = 0;
  let doubles = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code !== SINGLE && code !== DOUBLE) continue;
    const count = code === SINGLE ? ++singles : ++doubles;
    if (isAttack(text, index, count % 2 === 1)) return true;
  }
  return false;
}

function opensComment(text: string, index: number, isOutside: boolean): boolean {
  return isOutside && matchesAt(COMMENT_OUTSIDE, text, index) && !matchesAt(QUOTED_WORD, text, index);
}

function breaksOut(text: string, index: number, isOutside: boolean): boolean {
  return matchesAt(AFTER_QUOTE, text, index) || (isOutside && matchesAt(OUTSIDE, text, index));
}

/** The text with a space for each block comment; MySQL's `/*!50000 ... *\/` is no comment for MySQL, so its words stay. */
function withoutComments(text: string): string {
  let start = text.indexOf("/*");
  if (start === -1) return withoutLineComments(text);
  let kept = "";
  let from = 0;
  while (start !== -1) {
    const end = text.indexOf("*/", start + 2);
    if (end === -1) break;
    const inside = text.charAt(start + 2) === "!" ? text.slice(start + 3, end).replace(/^\d+/, "") : "";
    kept += `${text.slice(from, start)} ${inside} `;
    from = end + 2;
    start = text.indexOf("/*", from);
  }
  return withoutLineComments(kept + text.slice(from));
}

/** Only where one hides the seam of UNION and SELECT; elsewhere two dashes are most often prose. */
function withoutLineComments(text: string): string {
  return text.replace(/\b(union|all|distinct)\s{0,8}(?:--|#)[^\n]{0,128}\n/gi, "$1 ");
}

/** Whether a sticky expression matches at a place. */
function matchesAt(expression: RegExp, text: string, index: number): boolean {
  expression.lastIndex = index;
  return expression.test(text);
}
