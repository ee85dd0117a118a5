/** A value: as SQL of the data source, as JSON with every digit that was put in, and as CSV if that does not follow from the JSON. */
export type SourceValue = readonly [sql: string, json: string, csv?: string];

/** A type whose values arrive as they were put in. The documentation shows the first one; a NULL is always added. */
export interface SourceType {
  readonly type: string;
  readonly values: readonly [SourceValue, ...SourceValue[]];
  readonly remark?: string;
}

/** A value that arrives differently, and how to read it instead. */
export interface Exception {
  readonly type: string;
  readonly value: string;
  /** The JSON that comes, or the error. */
  readonly returned: string;
  /** Another template, in which `t` is the table, or an `init` of the connection. */
  readonly instead: { readonly template: string } | { readonly init: string };
  /** The JSON that then comes. */
  readonly json: string;
}

export interface SourceTypes {
  /** SQL before the tables are created. */
  readonly setup: readonly string[];
  readonly types: readonly SourceType[];
  readonly exceptions: readonly Exception[];
}

/** Values that are written alike in SQL and in JSON. */
export function same(first: string, ...others: readonly string[]): SourceType["values"] {
  return [[first, first], ...others.map((text) => [text, text] as const)];
}

/** Strings of the data source that are the same strings in JSON. */
export function strings(first: string, ...others: readonly string[]): SourceType["values"] {
  const value = (text: string): SourceValue => [`'${text.replaceAll("'", "''")}'`, JSON.stringify(text)];
  return [value(first), ...others.map(value)];
}
