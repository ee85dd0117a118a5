import type { SqlType } from "../sql/statement.ts";

export const locations = ["query", "path", "header", "body"] as const;

/** The part of a request that contains a parameter. */
export type ParameterLocation = (typeof locations)[number];

/** The result of a validator: the value to bind, or the message for the client. */
export type CheckResult =
  | { readonly ok: true; readonly value: string | bigint | boolean }
  | { readonly ok: false; readonly message: string };

/** A compiled validator. Other code does not depend on its type, except for `uuid`, which is bound as VARCHAR but may be inlined. */
export interface Validator {
  readonly type: string;
  /** The type with which a value is bound. Depends on the text only for a `number`. */
  readonly databaseType: (text: string) => SqlType;
  readonly jsonSchema: Readonly<Record<string, unknown>>;
  /** False for types that cannot contain SQL. */
  readonly scansForInjection: boolean;
  /** The values of an enum. */
  readonly allowedValues?: readonly string[];
  check(text: string): CheckResult;
  /** The same on another thread, for a long string. Undefined if `check` is fast enough. */
  checkOnThread?(text: string): Promise<CheckResult> | undefined;
}

/** A declared request parameter. */
export interface Parameter {
  readonly name: string;
  readonly in: ParameterLocation;
  readonly description: string | undefined;
  readonly required: boolean;
  readonly default: string | undefined;
  readonly validators: readonly Validator[];
}

/**
 * The unvalidated value of one parameter. `json` is the text of a JSON object or array. Body parameters accept it as a
 * string, others reject it.
 */
export type RawValue =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "json"; readonly text: string };

/** The unvalidated parameters, by location and name. Header names are in lower case. */
export interface RawParams {
  readonly query: ReadonlyMap<string, RawValue>;
  readonly path: ReadonlyMap<string, RawValue>;
  readonly header: ReadonlyMap<string, RawValue>;
  readonly body: ReadonlyMap<string, RawValue>;
}

/** A validated value. `text` is for use inside SQL literals, `value` for bound parameters. */
export interface ParamValue {
  readonly text: string;
  readonly type: SqlType;
  readonly value: string | bigint | boolean;
}

/** The validated values, with defaults. Parameters that are not set are absent. */
export type Params = ReadonlyMap<string, ParamValue>;

/** The header of a field, in lower case: `x-user-region` for `x_user_region`. */
export function headerName(fieldName: string): string {
  return fieldName.toLowerCase().replaceAll("_", "-");
}

/** The same header, as written in documentation and `Vary`: `X-User-Region`. */
export function canonicalHeaderName(fieldName: string): string {
  return headerName(fieldName).replaceAll(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase());
}
