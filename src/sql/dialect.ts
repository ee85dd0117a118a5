import type { FunctionRole } from "./function-role.ts";
import type { PrivilegedAction } from "./privileged-action.ts";
import type { Token } from "./token.ts";

/** What the template compiler needs to know about the SQL of an engine. */
export interface Dialect {
  /** The text of the nth placeholder (from 1) of a statement. */
  placeholder(n: number): string;
  /** Whether `?` is a placeholder. Otherwise it is an operator. */
  readonly questionMarks: boolean;
  /** Whether block comments nest. */
  readonly nestedComments: boolean;
  /** Whether `$$...$$` and `$tag$...$tag$` are string literals. */
  readonly dollarQuotes: boolean;
  /** Letters (lower case) that make a literal with backslash escapes when they precede it, as in `e'...'`. */
  readonly escapePrefixes: ReadonlySet<string>;
  /** Names (upper case) that may precede a literal and give it a type: `DATE '2024-01-01'`. */
  readonly literalTypes: ReadonlySet<string>;
  /** The first words (upper case) of statements that change data, the catalog, files or the session. Others count as reads. */
  readonly changingVerbs: ReadonlySet<string>;
  /** The first words (upper case) of statements whose values name files or addresses. */
  readonly fileVerbs: ReadonlySet<string>;
  /** Whether a table function or CALL (upper case) changes data, whatever statement it is in. */
  changesData(functionName: string): boolean;
  /** Whether a WITH clause may contain statements that change data, and SELECT ... INTO creates a table. */
  readonly hiddenChanges: boolean;
  /** The privileged actions in the tokens of a statement, as far as they show. */
  privilegedActions(tokens: readonly Token[]): readonly PrivilegedAction[];
  /** What a function (lower case) does with its arguments; undefined if it only computes with them, or if no role is known. */
  roleOf(functionName: string): FunctionRole | undefined;
  /** Variables that a macro or view (lower case) passes to a function with a role. */
  variablesPassedBy(name: string): readonly VariableName[];
}

/** The name of a variable in lower case; undefined when it is only known at run time. */
export type VariableName = string | undefined;
