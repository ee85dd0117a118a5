/** Options of a typed connection, as written in the YAML. */
export type ConnectionOptions = Readonly<Record<string, string | undefined>>;

/** A short form of `init`: it declares its options and turns them into SQL. */
export interface ConnectionType {
  readonly type: string;
  readonly options: readonly string[];
  /** At least one option of each group is required. */
  readonly required: readonly (readonly string[])[];
  /** By option: the options that would have no effect beside it. */
  readonly replaces?: Readonly<Record<string, readonly string[]>>;
  /** The values that options accept. Others accept any string. */
  readonly values?: Readonly<Record<string, "boolean" | "integer" | readonly string[]>>;
  /** Whether it only creates a secret, which other connections may need. */
  readonly isSecret?: boolean;
  /** `name` becomes the name of the catalog, view or secret. */
  expand(options: ConnectionOptions, context: { readonly name: string; readonly readOnly: boolean }): string;
}
