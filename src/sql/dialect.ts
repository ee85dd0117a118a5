import type { FunctionRole } from "./function-role.ts";

/** What the template compiler needs to know about the SQL of an engine. */
export interface Dialect {
  /** The text of the nth placeholder (from 1) of a statement. */
  placeholder(n: number): string;
  /** Whether block comments nest. */
  readonly nestedComments: boolean;
  /** Whether `$$...$$` and `$tag$...$tag$` are string literals. */
  readonly dollarQuotes: boolean;
  /** Letters (lower case) that make a literal with backslash escapes when they precede it, as in `e'...'`. */
  readonly escapePrefixes: ReadonlySet<string>;
  /** Names (upper case) that may precede a literal and give it a type: `DATE '2024-01-01'`. */
  readonly literalTypes: ReadonlySet<string>;
  /** What a function (lower case) does with its arguments; undefined if it only computes with them, or if no role is known. */
  roleOf(functionName: string): FunctionRole | undefined;
  /** Variables that a macro or view (lower case) passes to a function with a role. */
  variablesPassedBy(name: string): readonly VariableName[];
}

/** The name of a variable in lower case; undefined when it is only known at run time. */
export type VariableName = string | undefined;
