import type { RemoteQuoting } from "./function-role.ts";
import type { SqlType } from "./statement.ts";

/** A value that is known only when a call is made: a parameter, part of the identity, or a variable of the cache. */
export interface CallValueRef {
  readonly scope: "params" | "auth" | "cache";
  readonly name: string;
  readonly valueClass: ValueClass;
  readonly type: ValueType;
}

/** The type of a value, as set by its validator. A UUID is bound as VARCHAR. */
export type ValueType = SqlType | "UUID";

/**
 * How a value may become part of the SQL text, besides being bound:
 * - `enum`: a value from a fixed list (of the template's author, or of Eider for `cache.table`), inlined as it is.
 * - `scalar`: an integer or boolean, inlined as a literal where SQL allows no placeholder, or as part of a word.
 * - `typed`: a number, date or time, inlined as a literal where SQL allows no placeholder.
 * - `text`: any string. It is only bound, except that a UUID may be inlined like `typed`.
 */
export type ValueClass = "enum" | "scalar" | "typed" | "text";

/** Where a value appears in SQL that a function such as `postgres_query` runs. Determines how Eider checks the value. */
export type InnerSqlPosition = "inside-quotes" | "bare" | "inside-sql-literal";

export type LiteralPart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "value"; readonly ref: CallValueRef; readonly innerPosition: InnerSqlPosition | undefined }
  | {
      readonly kind: "section";
      readonly ref: CallValueRef;
      readonly inverted: boolean;
      readonly parts: readonly LiteralPart[];
    };

/** One step of a compiled template. `offset` is its position in the template's text. */
export type Piece =
  /** SQL as the author wrote it. `blank`: only spaces and comments. */
  | { readonly kind: "sql"; readonly text: string; readonly offset: number; readonly blank: boolean }
  /** A semicolon between two statements. */
  | { readonly kind: "separator" }
  /** A value outside quotes. It is bound. */
  | {
      readonly kind: "value";
      readonly ref: CallValueRef;
      readonly offset: number;
      readonly innerPosition: InnerSqlPosition | undefined;
      readonly sharedKey: SharedKey;
    }
  /** A value that is inlined as a literal because SQL allows no placeholder here. Any class but `text`, or a UUID. */
  | {
      readonly kind: "typed-literal";
      readonly ref: CallValueRef;
      readonly offset: number;
      readonly sharedKey: SharedKey;
    }
  /** A scalar that is part of a word (`sales_{{params.year}}`). Negative numbers are rejected. */
  | { readonly kind: "word-part"; readonly ref: CallValueRef; readonly offset: number }
  /** The text of an enum, inlined as SQL. `canBind`: it may be bound as a value instead, because it touches no word. */
  | { readonly kind: "inline"; readonly ref: CallValueRef; readonly offset: number; readonly canBind: boolean }
  /**
   * A string literal that contains client values. The composed text is bound as one VARCHAR or, if `quoted`, inlined as a
   * quoted literal. `before` and `after` are the SQL of a cast around it, or empty.
   */
  | {
      readonly kind: "literal";
      readonly parts: readonly LiteralPart[];
      readonly before: string;
      readonly after: string;
      readonly quoted: boolean;
      readonly allEnums: boolean;
      readonly offset: number;
      readonly sharedKey: SharedKey;
    }
  /** A quoted identifier (`"..."`) that contains enum values. */
  | { readonly kind: "identifier"; readonly parts: readonly LiteralPart[]; readonly offset: number }
  | {
      readonly kind: "section";
      readonly ref: CallValueRef;
      readonly inverted: boolean;
      readonly pieces: readonly Piece[];
      readonly offset: number;
    };

/**
 * Identifies values that occur several times in a template. They share one placeholder, so that the database recognizes
 * `GROUP BY date_trunc($1, day)` as the same expression as in the SELECT list. Undefined for a value that occurs once.
 */
export type SharedKey = string | undefined;

/** A compiled template. */
export interface Template {
  readonly pieces: readonly Piece[];
  /** The client values that it reads, by full name (`params.id`). */
  readonly reads: ReadonlyMap<string, CallValueRef>;
  /**
   * Enum parameters whose text becomes SQL or selects what is read. Their values are checked even with
   * `validate-before-write: false`.
   */
  readonly enforcedEnums: ReadonlySet<string>;
  /**
   * Enum parameters outside quotes, which are bound if the template cannot be planned with their text inlined. `true`: an
   * enum that stays enforced even if it is bound.
   */
  readonly bareEnums: ReadonlyMap<string, boolean>;
  /** Functions (in lower case) around client values other than enums. Eider looks up in the database whether they are safe. */
  readonly enclosingFunctions: ReadonlySet<string>;
}

/** An error or warning in a template. `offset` is a character offset in its text. */
export interface TemplateProblem {
  readonly severity: "error" | "warning";
  readonly offset: number;
  readonly message: string;
  /** A security warning, which is an error with --strict. */
  readonly security?: true;
}

/** The macro that quotes a value for SQL that another database runs, by the quoting rules of that database. */
export function literalMacro(quoting: RemoteQuoting): string {
  switch (quoting) {
    case "standard":
      return "sql_literal";
    case "backslash-and-quote":
      return "sql_literal_backslash_and_quote";
    case "backslash":
      return "sql_literal_backslash";
  }
}
