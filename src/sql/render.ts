import { RequestFailure } from "../failure.ts";
import type { ParamValue } from "../params/parameter.ts";
import type { Dialect } from "./dialect.ts";
import { quoteIdentifier, quoteLiteral } from "./quote.ts";
import type { BoundValue, Statement } from "./statement.ts";
import type { CallValueRef, InnerSqlPosition, LiteralPart, Piece, SharedKey, Template, ValueType } from "./template.ts";

/** Returns the value of a reference, or undefined if it is not set. */
export type Lookup = (ref: CallValueRef) => ParamValue | undefined;

export interface RenderOptions {
  readonly dialect: Dialect;
  /**
   * For logs: typed literals become placeholders. Values that are part of a word, an identifier or a quoted literal stay in the
   * SQL; the lookup must mask them.
   */
  readonly bindsLiterals?: boolean;
  /** Called with the position of each piece in its statement and in the template, to locate database errors. */
  readonly trace?: (statement: number, at: number, offset: number) => void;
}

/** The statement being built. */
interface Draft {
  sql: string;
  values: BoundValue[];
  /** The placeholders of values that occur several times. */
  sharedPlaceholders: Map<string, string> | undefined;
  blank: boolean;
  /** The text that was added last. Kept because reading `sql` while it grows is slow. */
  tail: string;
  /** Whether `tail` is a placeholder. */
  endsWithPlaceholder: boolean;
}

const startDraft = (): Draft => ({
  sql: "",
  values: [],
  sharedPlaceholders: undefined,
  blank: true,
  tail: "",
  endsWithPlaceholder: false,
});

/** Renders a template to statements with bound values. */
export function render(template: Template, lookup: Lookup, options: RenderOptions): Statement[] {
  const statements: Statement[] = [];
  let draft = startDraft();
  const finish = (): void => {
    if (!draft.blank) statements.push({ sql: draft.sql, values: draft.values });
    draft = startDraft();
  };
  const run = (pieces: readonly Piece[]): void => {
    for (const piece of pieces) {
      if (piece.kind === "separator") {
        finish();
      } else if (piece.kind === "section") {
        if ((lookup(piece.ref) !== undefined) !== piece.inverted) run(piece.pieces);
      } else {
        options.trace?.(statements.length, draft.sql.length, piece.offset);
        renderPiece(piece, draft, lookup, options);
      }
    }
  };
  run(template.pieces);
  finish();
  return statements;
}

function renderPiece(
  piece: Exclude<Piece, { kind: "separator" | "section" }>,
  draft: Draft,
  lookup: Lookup,
  options: RenderOptions,
): void {
  if (piece.kind === "sql") {
    append(piece.text, draft);
    draft.blank &&= piece.blank;
    return;
  }
  draft.blank = false;
  switch (piece.kind) {
    case "value":
    case "typed-literal":
      renderValue(piece, draft, lookup, options);
      return;
    case "word-part": {
      const text = String(lookup(piece.ref)?.value ?? "NULL");
      // Only a negative integer fails: its minus sign would split the word.
      if (!/^\w+$/.test(text)) reject(piece.ref, "Integer is less than the minimum allowed value");
      append(text, draft);
      return;
    }
    case "inline":
      append(lookup(piece.ref)?.text ?? "NULL", draft);
      return;
    case "identifier":
      append(quoteIdentifier(compose(piece.parts, lookup)), draft);
      return;
    case "literal": {
      const text = compose(piece.parts, lookup);
      append(piece.before, draft);
      if (piece.quoted) append(quoteLiteral(text), draft);
      else bind({ type: "VARCHAR", value: text }, piece.sharedKey, draft, options.dialect);
      append(piece.after, draft);
      return;
    }
  }
}

function renderValue(
  piece: Extract<Piece, { kind: "value" | "typed-literal" }>,
  draft: Draft,
  lookup: Lookup,
  options: RenderOptions,
): void {
  const { ref } = piece;
  const value = lookup(ref);
  if (value === undefined) {
    append(nullOf(ref.type), draft);
    return;
  }
  if (piece.kind === "value" && piece.innerPosition !== undefined) checkInnerSql(value.text, piece.innerPosition, ref);
  const literal = piece.kind === "value" || options.bindsLiterals === true ? undefined : typedLiteral(value, ref);
  if (literal !== undefined) append(literal, draft);
  else bind({ type: value.type, value: value.value }, piece.sharedKey, draft, options.dialect);
}

/**
 * NULL, cast to its type, because the type may decide which overload of a function is chosen. A string and a UUID (bound as
 * VARCHAR) need no cast: a plain NULL adapts to its context.
 */
function nullOf(type: ValueType): string {
  switch (type) {
    case "VARCHAR":
    case "UUID":
      return "NULL";
    case "DECIMAL":
      // The narrowest DECIMAL adds no digits to the result of an expression.
      return "CAST(NULL AS DECIMAL(1,0))";
    default:
      return `CAST(NULL AS ${type})`;
  }
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
const NUMBER = /^[+-]?[\d.]+(?:e[+-]?\d+)?$/i;

/** An enum, or a value of a type that cannot contain SQL, as a literal. Undefined for others, which must not become SQL. */
function typedLiteral({ text, type, value }: ParamValue, ref: CallValueRef): string | undefined {
  if (ref.valueClass === "enum") return quoteLiteral(text);
  if (typeof value === "boolean") return String(value);
  // In parentheses, so that it cannot form a comment with a minus sign before it.
  if (typeof value === "bigint") return value < 0n ? `(${value})` : String(value);
  if ((type === "DECIMAL" || type === "DOUBLE") && NUMBER.test(text)) return `(${text})`;
  if ((type === "DATE" || type === "TIME") && /^[\d:.-]+$/.test(text)) return `${type} '${text}'`;
  return ref.type === "UUID" && UUID.test(text) ? `'${text}'` : undefined;
}

function bind(value: BoundValue, key: SharedKey, draft: Draft, dialect: Dialect): void {
  // An author may write `LIKE'...'` without a space. With a placeholder in place of the literal, `LIKE$1` would be one name.
  if (isWordCharacter(draft.tail.at(-1))) draft.sql += " ";
  draft.tail = placeholderFor(value, key, draft, dialect);
  draft.sql += draft.tail;
  draft.endsWithPlaceholder = true;
}

function placeholderFor(value: BoundValue, key: SharedKey, draft: Draft, dialect: Dialect): string {
  const known = key === undefined ? undefined : draft.sharedPlaceholders?.get(key);
  if (known !== undefined) return known;
  draft.values.push(value);
  const placeholder = dialect.placeholder(draft.values.length);
  if (key !== undefined) {
    draft.sharedPlaceholders ??= new Map();
    draft.sharedPlaceholders.set(key, placeholder);
  }
  return placeholder;
}

/** Adds SQL, after a space if needed: a digit directly after a placeholder would change its number. */
function append(text: string, draft: Draft): void {
  if (text === "") return;
  if (draft.endsWithPlaceholder && isWordCharacter(text[0])) draft.sql += " ";
  draft.tail = text;
  draft.sql += text;
  draft.endsWithPlaceholder = false;
}

const WORD_CHARACTER = /[\w$\u0080-\uffff]/;

function isWordCharacter(character: string | undefined): boolean {
  return character !== undefined && WORD_CHARACTER.test(character);
}

function compose(parts: readonly LiteralPart[], lookup: Lookup): string {
  let text = "";
  for (const part of parts) {
    switch (part.kind) {
      case "text":
        text += part.text;
        break;
      case "value": {
        const value = lookup(part.ref)?.text ?? "";
        if (part.innerPosition !== undefined) checkInnerSql(value, part.innerPosition, part.ref);
        text += value;
        break;
      }
      case "section":
        if ((lookup(part.ref) !== undefined) !== part.inverted) text += compose(part.parts, lookup);
        break;
    }
  }
  return text;
}

/**
 * Text that could end a string or a statement, or start a comment, in SQL passed to a database function such as `postgres_query`.
 * A NUL ends that SQL.
 */
const BREAKS_OUT = /['"`\\;\0]|--|\/\*/;
const ONE_WORD = /^(?:[\w.\u0080-\uffff]*|[+-]\d+(?:\.\d+)?)$/;

/** Rejects text that could change the SQL that a database function runs. */
function checkInnerSql(text: string, position: InnerSqlPosition, ref: CallValueRef): void {
  if (!isHarmless(text, position)) reject(ref, "Potential SQL injection detected");
}

function isHarmless(text: string, position: InnerSqlPosition): boolean {
  switch (position) {
    case "inside-sql-literal":
      // SQL text ends at a NUL, even inside quotes.
      return !text.includes("\0");
    case "inside-quotes":
      return !BREAKS_OUT.test(text);
    case "bare":
      return !BREAKS_OUT.test(text) && ONE_WORD.test(text);
  }
}

function reject(ref: CallValueRef, message: string): never {
  throw new RequestFailure({ kind: "invalid-params", errors: [{ field: ref.name, message }] });
}
