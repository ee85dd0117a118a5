/**
 * The shapes of attacks, for `injection-scan.ts`. They read text whose comments and white space have become single
 * spaces. Every repetition is bounded or stops at the next quote, so that a scan is linear in the length of the text.
 * All are sticky: they are tried at the places where they can begin, so that a long text can be scanned in slices.
 */

const BOOLEAN = String.raw`(?:(?:or|and|xor)(?!\w)|\|\||&&)[ (]{0,16}(?:not[ (]{1,16})?`;
const NAME = String.raw`[a-z_][\w.]{0,63}`;
const NUMBER = String.raw`-?\d[\w.]{0,31}`;
const QUOTED = `(?:'[^']{0,64}'|"[^"]{0,64}")`;
const COMPARED = ` ?(?:<=>|[!<>]?=|<>|<|>)=? ?`;
const CONSTANT = String.raw`['"\d(@-]`;
const END = String.raw` ?(?:;|--|#|\/\*|$)`;
/** Dashes glued to what stands before, or nothing after them: prose has words and spaces around its dashes. */
const COMMENT = String.raw`(?:--| ?--[-+ ]*$| ?#[-+ ]*$| ?\/\*)`;
const OBJECT = "(?:table|database|schema|view|index|user|role|function|procedure|trigger|sequence|type|macro|secret)";
const PROBES =
  "(?:sleep|benchmark|pg_sleep|randomblob|ascii|ord|substr|substring|mid|char|chr|length|char_length|extractvalue|updatexml" +
  "|load_file|read_text|read_csv|version|database|user|current_user|current_database|getenv|if|iif|concat|count|hex|cast|exists)";

/** What ends a statement and starts one that prose does not hold. */
const STACKED =
  "(?:" +
  [
    `drop ${OBJECT}\\b`,
    `(?:alter|truncate) ${OBJECT}\\b`,
    `create (?:or replace )?(?:temp(?:orary)? )?${OBJECT}\\b`,
    "insert (?:or \\w{1,16} )?into\\b",
    "merge into\\b",
    "delete from\\b",
    `update ${NAME} set\\b`,
    "exec(?:ute)? ?(?:\\(|immediate\\b|xp_|sp_|master\\b)",
    "waitfor delay\\b",
    "declare @",
    `shutdown${END}`,
  ].join("|") +
  ")";

/** Statements that only count where the text has really left a literal: snippets of code hold them too. */
const STACKED_OUTSIDE =
  "(?:" +
  [
    `select (?:[-\\d*'"(@]|null\\b|case\\b|${NAME} ?\\(|${NAME}(?: ?, ?${NAME}){0,64} from\\b)`,
    `with ${NAME} as ?\\(`,
    `(?:attach|load|install|pragma|detach|use|truncate) ?['"]?[\\w./:-]{1,128}['"]?${END}`,
    `attach (?:database |if not exists )?['"]`,
    `copy (?:\\(|${NAME} (?:to|from)\\b)`,
    `(?:set|pragma) (?:global |session )?${NAME} ?=`,
    `(?:call|pragma) ${NAME} ?\\(`,
    `(?:begin|commit|rollback|vacuum|checkpoint|show tables)${END}`,
    "(?:export|import) database\\b",
  ].join("|") +
  ")";

const shape = (flags: string, alternatives: readonly string[]) => new RegExp(`(?:${alternatives.join("|")})`, flags);

/** Where `ANYWHERE` can begin. */
export const UNION = /\bunion[ (]/gi;

/** Anywhere in the text. `UNION SELECT` stands in prose so seldom that it needs no quote before it. */
export const ANYWHERE = shape("iy", [
  String.raw`union[ (]+(?:(?:all|distinct)[ (]+)?(?:by name[ (]+)?select\b`,
  String.raw`union (?:all|distinct)\(+select\b`,
]);

/** From the first character on: what is aimed at a number without quotes. */
export const AT_START = shape("iy", [
  String.raw` ?-?\w{0,64}\)* ?; ?${STACKED}`,
  String.raw` ?-?\w{1,64}\)* (?:or|and) ?\(?(\d{1,18}) ?(?:=|like) ?\1\b`,
  String.raw` ?-?\d{1,18}\)* (?:or|and) ?\(?(?:sleep|pg_sleep|benchmark) ?\(`,
]);

/** What stands between a quote and a shape: an attacker closes with it what the quote leaves open. */
export const CLOSING = /[ )\]]*/y;
/** Before another statement. */
export const SEPARATING = /[ ;]*/y;

/** After any quote, what it closes and a semicolon. */
export const STATEMENT = shape("iy", [STACKED]);

/** After any quote and what it closes: how `AFTER_QUOTE` and `OUTSIDE` begin. It decides most of what follows a quote. */
export const BEGINNINGS = "|&+oaxueimhglOAXUEIMHGL";

export const AFTER_QUOTE = shape("iy", [
  `${BOOLEAN}${NUMBER}${COMPARED}${CONSTANT}`,
  String.raw`${BOOLEAN}(['"])([^'"]{0,64})\1 ?= ?\1\2(?:\1|$)`,
]);

/** The same after a quote that ends a literal, when the text is put between quotes. */
export const STATEMENT_OUTSIDE = shape("iy", [STACKED_OUTSIDE, "--", "#", String.raw`\/\*`]);

export const OUTSIDE = shape("iy", [
  `${BOOLEAN}(?:${[
    `${QUOTED}${COMPARED}`,
    `(?:${NUMBER}|${QUOTED}|${NAME}) (?:not )?(?:i?like|in|regexp|rlike|glob|similar to) ?\\(? ?['"]`,
    `(?:${NUMBER}|${QUOTED}|${NAME}) (?:not )?in ?\\( ?(?:\\d|select\\b)`,
    `(?:${NUMBER}|${QUOTED}|${NAME}) is (?:not )?null\\b`,
    `(?:${NUMBER}|${QUOTED}) (?:not )?between ${CONSTANT}`,
    `${NAME}${COMPARED}(?:${CONSTANT}|null\\b|true\\b|false\\b)`,
    `(${NAME}) ?= ?\\1\\b`,
    "(?<=\\( ?)select\\b",
    "exists ?\\(",
    "case when\\b",
    `${PROBES}\\(`,
    `(?:${NUMBER}|${QUOTED}|true|false)${COMMENT}`,
    `(?:${NUMBER}|true|false)\\)* ?;`,
    `(?:${NUMBER}|true)${COMPARED}`,
    "(?:true|false)\\)*$",
    "@@",
  ].join("|")})`,
  String.raw`\+ ?\( ?select\b`,
  String.raw`(?:union|except|intersect|minus) (?:all |distinct )?(?:by name )?(?:select\b|values ?\(|\( ?(?:select|values|from)\b)`,
  String.raw`having \d`,
  String.raw`group by [\w., ]{1,128} having\b`,
  String.raw`order by \d{1,9}${COMMENT}`,
  String.raw`(?:limit \d{1,9} )?into (?:outfile|dumpfile)\b`,
]);

/** As `OUTSIDE`, but in the text as it came, comments included; it stands after what is closed and white space. */
export const CLOSING_TIGHTLY = /[)\]]*/y;
export const WHITE_SPACE = /\s*/y;
/** What may follow a comment opener at the end of a text. */
export const AFTER_COMMENT = /[-+\s]*/y;

/** A word in quotes that starts like a comment: `'--force'`, `"/*"`. */
export const QUOTED_WORD = /(?<=^|[\s([{,=:])(['"])(?:--|\/\*)[^\s'"]{0,64}\1/y;
