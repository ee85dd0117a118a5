/** What the template compiler must know of the SQL that an engine speaks. */
export interface Dialect {
  /** The text of the nth placeholder (from 1) of a statement. */
  placeholder(n: number): string;
  /** Block comments nest. */
  readonly nestedComments: boolean;
  /** `$$...$$` and `$tag$...$tag$` are string literals. */
  readonly dollarQuotes: boolean;
  /** A prefix letter (lower case) that makes `x'...'` a literal with backslash escapes. */
  readonly escapePrefixes: ReadonlySet<string>;
  /** Names (upper case) that may stand before a literal to give it a type: `DATE '2024-01-01'`. */
  readonly literalTypes: ReadonlySet<string>;
  /** Functions (lower case) that take SQL for somebody else, and how that side quotes. */
  readonly sqlFunctions: ReadonlyMap<string, RemoteQuoting>;
  /** True for a function (lower case) whose arguments name files or addresses. */
  readsFiles(functionName: string): boolean;
}

/** How a string literal is quoted for the other side. `name`: the argument is a name, not SQL. */
export type RemoteQuoting = "standard" | "backslash-and-quote" | "backslash" | "name";
