/**
 * The shapes of attacks, for `injection-scan.ts`. They expect text in which comments and white space are single spaces.
 * Every repetition is bounded or stops at the next quote, so that a scan takes linear time. All except `UNION` are sticky
 * and tried only where they can start, so that long text can be scanned in slices.
 */

const BOOLEAN = String.raw`(?:(?:or|and|xor)(?!\w)|\|\||&&)[ (]{0,16}(?:not[ (]{1,16})?`;
const NAME = String.raw`[a-z_][\w.]{0,63}`;
const NUMBER = String.raw`-?\d[\w.]{0,31}`;
const QUOTED = `(?:'[^']{0,64}'|"[^"]{0,64}")`;
const COMPARED = ` ?(?:<=>|[!<>]?=|<>|<|>)=? ?`;
const CONSTANT = String.raw`['"\d(@-]`;
const END = String.raw` ?(?:;|--|#|\/\*|$)`;
/** Dashes without a space before them, or with nothing after them. In prose, dashes have words and spaces around them. */
const COMMENT = String.raw`(?:--| ?--[-+ ]*$| ?#[-+ ]*$| ?\/\*)`;
const OBJECT = "(?:table|database|schema|view|index|user|role|function|procedure|trigger|sequence|type|macro|secret)";
const PROBES =
  "(?:sleep|benchmark|pg_sleep|randomblob|ascii|ord|substr|substring|mid|char|chr|length|char_length|extractvalue|updatexml" +
  "|load_file|read_text|read_csv|version|database|user|current_user|current_database|getenv|if|iif|concat|count|hex|cast|exists)";

/** The start of a second statement that does not occur in prose. */
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

/** Statements that only count after the text has left a literal, because code snippets contain them too. */
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

/** Where `ANYWHERE` can start. */
export const UNION = /\bunion[ (]/gi;

/** Anywhere in the text. `UNION SELECT` is so rare in prose that it needs no preceding quote. */
export const ANYWHERE = shape("iy", [
  String.raw`union[ (]+(?:(?:all|distinct)[ (]+)?(?:by name[ (]+)?select\b`,
  String.raw`union (?:all|distinct)\(+select\b`,
]);

/** At the start of the text: attacks on an unquoted number. */
export const AT_START = shape("iy", [
  String.raw` ?-?\w{0,64}\)* ?; ?${STACKED}`,
  String.raw` ?-?\w{1,64}\)* (?:or|and) ?\(?(\d{1,18}) ?(?:=|like) ?\1\b`,
  String.raw` ?-?\d{1,18}\)* (?:or|and) ?\(?(?:sleep|pg_sleep|benchmark) ?\(`,
]);

/** Between a quote and a shape. Closes brackets that are still open. */
export const CLOSING = /[ )\]]*/y;
/** Before another statement. */
export const SEPARATING = /[ ;]*/y;

/** After any quote, `CLOSING` and a semicolon. */
export const STATEMENT = shape("iy", [STACKED]);

/** The first characters of `AFTER_QUOTE` and `OUTSIDE`. A quick check that excludes most quotes. */
export const BEGINNINGS = "|&+oaxueimhglOAXUEIMHGL";

export const AFTER_QUOTE = shape("iy", [
  `${BOOLEAN}${NUMBER}${COMPARED}${CONSTANT}`,
  String.raw`${BOOLEAN}(['"])([^'"]{0,64})\1 ?= ?\1\2(?:\1|$)`,
]);

/** Like `STATEMENT`, but only after a quote that would end a literal. */
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

/** Like `CLOSING`, but for text that still contains its comments and white space. */
export const CLOSING_TIGHTLY = /[)\]]*/y;
export const WHITE_SPACE = /\s*/y;
/** May follow the start of a comment at the end of the text. */
export const AFTER_COMMENT = /[-+\s]*/y;

/** A quoted word that starts like a comment, such as `'--force'` or `"/*"`. */
export const QUOTED_WORD = /(?<=^|[\s([{,=:])(['"])(?:--|\/\*)[^\s'"]{0,64}\1/y;
