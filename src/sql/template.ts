import type { RemoteQuoting } from "./function-role.ts";
import type { SqlType } from "./statement.ts";

/** A value of a request, its identity or a snapshot. It is known only when a call is made. */
export interface ClientRef {
  readonly scope: "params" | "auth" | "cache";
  readonly name: string;
  readonly traits: ValueTraits;
  readonly type: ValueType;
}

/** The type that its validator gives a value. A UUID is bound as VARCHAR. */
export type ValueType = SqlType | "UUID";

/**
 * What may be done with a value besides binding it. `enum`: one of the author's own list, so its text may be inlined.
 * `scalar`: integers and booleans, which may be inlined where SQL takes no parameter. `typed`: other
 * types that cannot carry SQL text. `text`: anything.
 */
export type ValueTraits = "enum" | "scalar" | "typed" | "text";

/** How to check a value that becomes part of SQL for another database. */
export type RemotePlace = "inside-quotes" | "bare" | "quoted-for-it";

export type LiteralPart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "value"; readonly ref: ClientRef; readonly remote: RemotePlace | undefined }
  | {
      readonly kind: "section";
      readonly ref: ClientRef;
      readonly inverted: boolean;
      readonly parts: readonly LiteralPart[];
    };

/** One step of a compiled template. `offset` is its position in the template's text. */
export type Piece =
  /** The author's own SQL. `blank`: spaces and comments only. */
  | { readonly kind: "sql"; readonly text: string; readonly offset: number; readonly blank: boolean }
  | { readonly kind: "separator" }
  /** A bare value: bound. */
  | {
      readonly kind: "value";
      readonly ref: ClientRef;
      readonly offset: number;
      readonly remote: RemotePlace | undefined;
      readonly shared: SharedKey;
    }
  /** An enum, or a validated value of a type that holds no quote, as a literal: where SQL takes no parameter. */
  | { readonly kind: "typed-literal"; readonly ref: ClientRef; readonly offset: number; readonly shared: SharedKey }
  /** A scalar that is part of a word (`sales_{{params.year}}`): digits, never signed. */
  | { readonly kind: "glued"; readonly ref: ClientRef; readonly offset: number }
  /** An enum's text as the author wrote it in the YAML. `canBind`: it may as well be a value. */
  | { readonly kind: "inline"; readonly ref: ClientRef; readonly offset: number; readonly canBind: boolean }
  /** A string literal with client values: one bound VARCHAR, or quoted text where `quoted` is set. */
  | {
      readonly kind: "literal";
      readonly parts: readonly LiteralPart[];
      readonly before: string;
      readonly after: string;
      readonly quoted: boolean;
      readonly allEnums: boolean;
      readonly offset: number;
      readonly shared: SharedKey;
    }
  /** `"..."` with enum values in it. */
  | { readonly kind: "identifier"; readonly parts: readonly LiteralPart[]; readonly offset: number }
  | {
      readonly kind: "section";
      readonly ref: ClientRef;
      readonly inverted: boolean;
      readonly pieces: readonly Piece[];
      readonly offset: number;
    };

/**
 * Identifies values that occur several times in a template. They share one placeholder, so that the database recognizes
 * `GROUP BY date_trunc($1, day)` as the expression of the SELECT list. Undefined: it occurs once.
 */
export type SharedKey = string | undefined;

/** A template, parsed once at load. */
export interface Template {
  readonly pieces: readonly Piece[];
  /** Every client value that it reads, `params.id` and so on. */
  readonly reads: ReadonlyMap<string, ClientRef>;
  /** Parameters whose enum is always enforced, since their text becomes SQL or selects what is read. */
  readonly enforcedEnums: ReadonlySet<string>;
  /** Bare enums: inlined, unless the database takes them only as values. `true`: enforced even then. */
  readonly bareEnums: ReadonlyMap<string, boolean>;
  /** Functions (lower case) around values other than enums. Their effect must be known. */
  readonly functionsAround: ReadonlySet<string>;
}

/** Something wrong in a template. `offset` counts characters of its text. */
export interface TemplateProblem {
  readonly severity: "error" | "warning";
  readonly offset: number;
  readonly message: string;
  /** A security warning, which is an error with --strict. */
  readonly security?: true;
}

/** The macro that quotes a value for the database of a remote query. */
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
