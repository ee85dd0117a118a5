import type { RemoteQuoting } from "./function-role.ts";
import type { SqlType } from "./statement.ts";

/** A value that is known only when a call is made: a request parameter, part of the identity, or a property of the snapshot. */
export interface CallValueRef {
  readonly scope: "params" | "auth" | "cache";
  readonly name: string;
  readonly valueClass: ValueClass;
  readonly type: ValueType;
}

/** The type of a value, as set by its validator. A UUID is bound as VARCHAR. */
export type ValueType = SqlType | "UUID";

/**
 * What may be done with a value besides binding it. `enum`: one of the values that the author listed, so its text may be
 * inlined. `scalar`: integers and booleans, which may be inlined as literals where SQL allows no placeholder, or as part of a
 * word. `typed`: other types that cannot contain SQL, which may be inlined as literals. `text`: anything.
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
  /** The author's own SQL. `blank`: spaces and comments only. */
  | { readonly kind: "sql"; readonly text: string; readonly offset: number; readonly blank: boolean }
  | { readonly kind: "separator" }
  /** A value outside quotes. It is bound. */
  | {
      readonly kind: "value";
      readonly ref: CallValueRef;
      readonly offset: number;
      readonly innerPosition: InnerSqlPosition | undefined;
      readonly sharedKey: SharedKey;
    }
  /** A value inlined as a literal where SQL allows no placeholder: an enum, or a type that cannot contain a quote. */
  | {
      readonly kind: "typed-literal";
      readonly ref: CallValueRef;
      readonly offset: number;
      readonly sharedKey: SharedKey;
    }
  /** A scalar that is part of a word (`sales_{{params.year}}`). Negative numbers are rejected. */
  | { readonly kind: "word-part"; readonly ref: CallValueRef; readonly offset: number }
  /** An enum's text as the author wrote it in the YAML. `canBind`: it can be bound as a value instead. */
  | { readonly kind: "inline"; readonly ref: CallValueRef; readonly offset: number; readonly canBind: boolean }
  /**
   * A string literal with client values: one bound VARCHAR, or quoted text where `quoted` is set. `before` and `after` form a
   * cast, or are empty.
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
  /** `"..."` with enum values in it. */
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
  /** Enums that are enforced even without validation of writes: their text becomes SQL or selects what is read. */
  readonly enforcedEnums: ReadonlySet<string>;
  /** Enums outside quotes: inlined, or bound if the database accepts only a value there. `true`: enforced even if bound. */
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

/** The macro that quotes a value for the database that runs the SQL. */
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
