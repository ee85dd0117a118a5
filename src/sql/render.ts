import { RequestFailure } from "../failure.ts";
import type { ParamValue } from "../params/parameter.ts";
import type { Dialect } from "./dialect.ts";
import { quoteIdentifier, quoteLiteral } from "./quote.ts";
import type { BoundValue, Statement } from "./statement.ts";
import type { ClientRef, LiteralPart, Piece, RemotePlace, Template } from "./template.ts";

/** The client's value for a name, undefined when it is not set. */
export type Lookup = (ref: ClientRef) => ParamValue | undefined;

export interface RenderOptions {
  readonly dialect: Dialect;
  /** Integers, booleans and enum literals become SQL text, for positions where SQL takes no parameter. */
  readonly inline: boolean;
  /** Values other than strings become typed NULLs in the SQL, so that the database checks their types at load. */
  readonly typedNulls?: boolean;
  /** Called with the position of each piece in its statement and in the template, to locate database errors. */
  readonly trace?: (statement: number, at: number, offset: number) => void;
}

/** The statement being built. */
interface Draft {
  sql: string;
  values: BoundValue[];
  blank: boolean;
  /** The text that was added last, and whether it was a placeholder. Reading `sql` while it grows is slow. */
  tail: string;
  isBound: boolean;
}

const startDraft = (): Draft => ({ sql: "", values: [], blank: true, tail: "", isBound: false });

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
      renderValue(piece, draft, lookup, options);
      return;
    case "glued": {
      const text = String(lookup(piece.ref)?.value ?? "NULL");
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
      if (piece.quoted || (options.inline && piece.allEnums)) append(quoteLiteral(text), draft);
      else bind({ type: "VARCHAR", value: text }, draft, options.dialect);
      append(piece.after, draft);
      return;
    }
  }
}

function renderValue(
  { ref, remote }: Extract<Piece, { kind: "value" }>,
  draft: Draft,
  lookup: Lookup,
  options: RenderOptions,
): void {
  const value = lookup(ref);
  if (value === undefined) {
    append("NULL", draft);
    return;
  }
  if (remote !== undefined) checkRemote(value.text, remote, ref);
  // Text that was not validated is never inlined.
  if (options.inline && ref.traits === "scalar" && typeof value.value !== "string") append(inlined(value.value), draft);
  else if (options.typedNulls === true && value.type !== "VARCHAR") append(`CAST(NULL AS ${value.type})`, draft);
  else bind({ type: value.type, value: value.value }, draft, options.dialect);
}

/** In parentheses, so that it cannot form a comment with a minus sign before it. */
function inlined(value: bigint | boolean): string {
  return typeof value === "bigint" && value < 0n ? `(${value})` : String(value);
}

function bind(value: BoundValue, draft: Draft, dialect: Dialect): void {
  draft.values.push(value);
  // `LIKE'...'` is two tokens; a word and a placeholder that touch would be one name.
  if (isWordCharacter(draft.tail.at(-1))) draft.sql += " ";
  draft.tail = dialect.placeholder(draft.values.length);
  draft.sql += draft.tail;
  draft.isBound = true;
}

/** Adds SQL. A digit directly after a placeholder would change its number. */
function append(text: string, draft: Draft): void {
  if (text === "") return;
  if (draft.isBound && isWordCharacter(text[0])) draft.sql += " ";
  draft.tail = text;
  draft.sql += text;
  draft.isBound = false;
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
        if (part.remote !== undefined) checkRemote(value, part.remote, part.ref);
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

/** A NUL would end the other database's SQL. */
const BREAKS_OUT = /['"`\\;\0]|--|\/\*/;
const ONE_WORD = /^(?:[\w.\u0080-\uffff]*|[+-]\d+(?:\.\d+)?)$/;

/** Rejects text that could change the SQL that another database runs. */
function checkRemote(text: string, place: RemotePlace, ref: ClientRef): void {
  if (!isHarmless(text, place)) reject(ref, "Potential SQL injection detected");
}

function isHarmless(text: string, place: RemotePlace): boolean {
  switch (place) {
    case "quoted-for-it":
      // SQL text ends at a NUL, even inside quotes.
      return !text.includes("\0");
    case "inside-quotes":
      return !BREAKS_OUT.test(text);
    case "bare":
      return !BREAKS_OUT.test(text) && ONE_WORD.test(text);
  }
}

function reject(ref: ClientRef, message: string): never {
  throw new RequestFailure({ kind: "invalid-params", errors: [{ field: ref.name, message }] });
}
