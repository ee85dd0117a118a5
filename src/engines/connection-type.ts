/** Options of a connection, as written in the YAML. The keys of a map follow the option's name and a dot. */
export type ConnectionOptions = Readonly<Record<string, string | undefined>>;

/** What an option accepts. `list`: strings, joined by commas. `map`: strings by name. */
export type OptionValues = "boolean" | "integer" | "list" | "map" | readonly string[];

/** Options that a connection has because of its `type` or its `engine`. */
export interface OptionRules {
  readonly options: readonly string[];
  /** At least one option of each group is required. */
  readonly required: readonly (readonly string[])[];
  /** By option: the options that would have no effect beside it. */
  readonly replaces?: Readonly<Record<string, readonly string[]>>;
  /** The values that options accept. Others accept any string. */
  readonly values?: Readonly<Record<string, OptionValues>>;
}

/** A short form of `init`: it declares its options and turns them into SQL. */
export interface ConnectionType extends OptionRules {
  readonly type: string;
  /** Whether it only creates a secret, which other connections may need. */
  readonly isSecret?: boolean;
  /** The option that names the database file that it attaches. Undefined if what it attaches is not one file. */
  readonly databaseFile?: string;
  /** Functions (upper case) that can change what it attaches, even if it is attached for reading only. */
  readonly unprotectedFunctions?: readonly string[];
  /** `name` becomes the name of the catalog, view or secret. */
  expand(options: ConnectionOptions, context: { readonly name: string; readonly readOnly: boolean }): string;
}
