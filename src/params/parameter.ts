import type { SqlType } from "../sql/statement.ts";

export const locations = ["query", "path", "header", "body"] as const;

/** Where a request carries a parameter. */
export type ParameterLocation = (typeof locations)[number];

/** What a validator makes of a text: the value in the form in which it is bound, or the message for the client. */
export type Checked =
  | { readonly ok: true; readonly value: string | bigint | boolean }
  | { readonly ok: false; readonly message: string };

/** One compiled validator. No other code depends on its type. */
export interface Validator {
  readonly type: string;
  readonly databaseType: (text: string) => SqlType;
  readonly jsonSchema: Readonly<Record<string, unknown>>;
  /** False for types that cannot carry SQL text. */
  readonly scansForInjection: boolean;
  /** The author's own list, when the value is one of a fixed list (enum). */
  readonly allowedValues?: readonly string[];
  check(text: string): Checked;
  /** The same on another thread, where a long text would take long; undefined: it would not. */
  checkElsewhere?(text: string): Promise<Checked> | undefined;
}

/** One declared request parameter. */
export interface Parameter {
  readonly name: string;
  readonly in: ParameterLocation;
  readonly description: string | undefined;
  readonly required: boolean;
  readonly default: string | undefined;
  readonly validators: readonly Validator[];
}

/**
 * What a client sent for one parameter, before validation. `json` is the text of a JSON object or array; a declared
 * body field takes it as a string, a field of another location rejects it.
 */
export type RawValue =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "json"; readonly text: string };

/** What a client sent, by location and name. Header names are in lower case. An absent name was not sent. */
export interface RawParams {
  readonly query: ReadonlyMap<string, RawValue>;
  readonly path: ReadonlyMap<string, RawValue>;
  readonly header: ReadonlyMap<string, RawValue>;
  readonly body: ReadonlyMap<string, RawValue>;
}

/** One validated value: its text (for use inside SQL literals) and its typed form (for use as a bound parameter). */
export interface ParamValue {
  readonly text: string;
  readonly type: SqlType;
  readonly value: string | bigint | boolean;
}

/** Validated values after defaults. An absent name is not set. */
export type Params = ReadonlyMap<string, ParamValue>;

/** The header that carries a field: `x_user_region` comes as `X-User-Region`. Lower case, as in RawParams. */
export function headerName(fieldName: string): string {
  return fieldName.toLowerCase().replaceAll("_", "-");
}

/** The same header as documentation and `Vary` write it: `X-User-Region`. */
export function canonicalHeaderName(fieldName: string): string {
  return headerName(fieldName).replaceAll(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase());
}
