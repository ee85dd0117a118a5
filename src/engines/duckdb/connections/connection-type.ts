import { quoteIdentifier, quoteLiteral } from "../../../sql/quote.ts";
import type { ConnectionOptions, ConnectionType } from "../../connection-type.ts";

export type Options = ConnectionOptions;
export type ConnectionContext = Parameters<ConnectionType["expand"]>[1];
export type { ConnectionType };

/** INSTALL does nothing when the extension is in the extension directory; otherwise it downloads it. */
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
  return `ATTACH IF NOT EXISTS ${quoteLiteral(address)} AS ${quoteIdentifier(name)}${list}`;
}

function view({ name }: ConnectionContext, source: string): string {
  return `CREATE OR REPLACE VIEW ${quoteIdentifier(name)} AS SELECT * FROM ${source}`;
}

/** A view of the rows that a table function reads from files. `names` are the function's parameters, by option. */
export function fileView(
  options: Options,
  context: ConnectionContext,
  { reader, names }: { readonly reader: string; readonly names: Readonly<Record<string, string>> },
): string {
  const { path = "" } = options;
  const settings = [...columnsFrom(options), ...settingsFrom(options, names)].map((setting) => setting.join(" = "));
  return statements(fileSystemOf(path), view(context, `${reader}(${[quoteLiteral(path), ...settings].join(", ")})`));
}

/** The extension that reads a URL. */
function fileSystemOf(path: string): readonly string[] {
  if (/^(?:https?|s3|s3a|s3n|gs|gcs|r2|hf):\/\//i.test(path)) return extension("httpfs");
  return /^(?:az|azure|abfss?):\/\//i.test(path) ? extension("azure") : [];
}

/** `KEY 'value'` for each option that is set. */
export function settingsFrom(
  options: Options,
  names: Readonly<Record<string, string>>,
): readonly (readonly [string, string])[] {
  return Object.entries(names).flatMap(([option, key]) => {
    const value = options[option];
    return value === undefined ? [] : [[key, quoteLiteral(value)] as const];
  });
}

/** The types of the option `columns`, by name, as the parameter of a function that reads files. */
function columnsFrom(options: Options): readonly (readonly [string, string])[] {
  const prefix = "columns.";
  const types = Object.entries(options).flatMap(([key, type]) =>
    key.startsWith(prefix) && type !== undefined
      ? [`${quoteLiteral(key.slice(prefix.length))}: ${quoteLiteral(type)}`]
      : [],
  );
  return types.length === 0 ? [] : [["columns", `{${types.join(", ")}}`]];
}

/** Credentials go into a secret, not into an address: error messages show addresses. */
export function secret(name: string, settings: readonly (readonly [string, string])[]): string {
  return `CREATE OR REPLACE SECRET ${quoteIdentifier(name)} (${settings.map((setting) => setting.join(" ")).join(", ")})`;
}

export function statements(...parts: readonly (string | readonly string[])[]): string {
  return parts.flat().join(";\n");
}
