import { quoteName, quoteText } from "../sql-text.ts";

/** Options of a connection, as written in the YAML. */
export type Options = Readonly<Record<string, string | undefined>>;

export interface ConnectionContext {
  /** The connection's name, which becomes the name of the catalog, view or secret. */
  readonly name: string;
  readonly readOnly: boolean;
}

/** A short form of `init`: it says which options it knows and makes the SQL of them. */
export interface ConnectionType {
  readonly type: string;
  readonly options: readonly string[];
  /** Of each group at least one must be given. */
  readonly required: readonly (readonly string[])[];
  expand(options: Options, context: ConnectionContext): string;
}

/** INSTALL does nothing when the extension lies in the extension directory; else it asks DuckDB's repository. */
export function extension(name: string): readonly string[] {
  return [`INSTALL ${name}`, `LOAD ${name}`];
}

export interface Attachment {
  readonly address: string;
  /** Written into the parentheses of ATTACH; a value is SQL text. */
  readonly settings: readonly (readonly [name: string, value: string | undefined])[];
}

export function attach({ name, readOnly }: ConnectionContext, { address, settings }: Attachment): string {
  const all = [...settings.map((setting) => setting.join(" ")), ...(readOnly ? ["READ_ONLY"] : [])];
  const list = all.length === 0 ? "" : ` (${all.join(", ")})`;
  return `ATTACH IF NOT EXISTS ${quoteText(address)} AS ${quoteName(name)}${list}`;
}

export function view({ name }: ConnectionContext, source: string): string {
  return `CREATE OR REPLACE VIEW ${quoteName(name)} AS SELECT * FROM ${source}`;
}

/** `KEY 'value'` for each option that is set. */
export function given(
  options: Options,
  names: Readonly<Record<string, string>>,
): readonly (readonly [string, string])[] {
  return Object.entries(names).flatMap(([option, key]) => {
    const value = options[option];
    return value === undefined ? [] : [[key, quoteText(value)] as const];
  });
}

/** Credentials go into a secret, not into an address: errors show addresses. */
export function secret(name: string, settings: readonly (readonly [string, string])[]): string {
  return `CREATE OR REPLACE SECRET ${quoteName(name)} (${settings.map((setting) => setting.join(" ")).join(", ")})`;
}

export function statements(...parts: readonly (string | readonly string[])[]): string {
  return parts.flat().join(";\n");
}
