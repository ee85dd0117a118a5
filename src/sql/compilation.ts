import type { Dialect } from "./dialect.ts";
import type { TemplateScope } from "./scope.ts";
import { BARE, type Mode, type StringStyle } from "./sql-lexer.ts";
import type { CallValueRef, LiteralPart, Piece, TemplateProblem } from "./template.ts";
import type { ValuePosition } from "./value-place.ts";
import { openVariableFlow, type VariableFlow } from "./variable-flow.ts";
import { nameOf } from "./whole-tokens.ts";

/** An open string or quoted name, with its content so far. */
export interface OpenQuotes {
  readonly offset: number;
  /** The source so far, emitted unchanged if it contains no tag. */
  source: string;
  parts: LiteralPart[];
  hasClientValue: boolean;
  /** Whether it contains configuration. */
  hasTrustedText: boolean;
}

export interface OpenString extends OpenQuotes {
  readonly style: StringStyle;
  /** The type before the literal (`DATE `), which belongs to it: `DATE '...'`. */
  readonly typePrefix: string;
  /** The type without surrounding comments and spaces. */
  readonly typeName: string;
  readonly position: ValuePosition;
  /** Whether it directly follows a `(`. */
  readonly isFirstArgument: boolean;
}

/**
 * The lexer state in the SQL argument of a function that runs SQL (`postgres_query('pg', 'SELECT ...')`), after the text read so
 * far. `unknown` counts as `bare`, until the next argument.
 */
export type InnerState = "bare" | "'" | '"' | "--" | "/*" | "unknown";

/** An open parenthesis. `name` is the function before it in lower case, or empty. */
export interface OpenCall {
  readonly name: string;
  /** The index of the name in the text node being read, -1 if it was in an earlier node. */
  readonly start: number;
  /** The state of its SQL argument, if it takes one. */
  inner: InnerState;
}

/** An earlier token of bare SQL. `start` is its index in the text node being read, -1 if it was in an earlier node. */
export interface SeenToken {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** A piece of the author's SQL to which more text may be added. */
interface SqlPiece {
  readonly kind: "sql";
  text: string;
  readonly offset: number;
  blank: boolean;
}

/** The state of a compilation: the position in the SQL, emitted pieces and problems. */
export interface Compilation {
  readonly scope: TemplateScope;
  readonly dialect: Dialect;
  readonly problems: TemplateProblem[];
  readonly reads: Map<string, CallValueRef>;
  readonly enforcedEnums: Set<string>;
  readonly bareEnums: Set<string>;
  /** Functions (lower case) around values other than enums. */
  readonly enclosingFunctions: Set<string>;
  readonly variables: VariableFlow;
  out: Piece[];
  /** The piece to which SQL can be added, if it is still the last one. */
  open: SqlPiece | undefined;
  mode: Mode;
  string: OpenString | undefined;
  identifier: OpenQuotes | undefined;
  /** Quotes around the current section, which must not close them. */
  enclosingQuotes: OpenQuotes | undefined;
  calls: OpenCall[];
  /** Whether the position is after `COPY ... TO` or `COPY ... FROM`. */
  isCopyTarget: boolean;
  /** Bare tokens of the statement in upper case, without comments, the latest last. */
  seen: SeenToken[];
  problem(offset: number, message: string): void;
  warning(offset: number, message: string): void;
  securityWarning(offset: number, message: string): void;
}

export function openCompilation(scope: TemplateScope, dialect: Dialect, problems: TemplateProblem[]): Compilation {
  return {
    scope,
    dialect,
    problems,
    reads: new Map(),
    enforcedEnums: new Set(),
    bareEnums: new Set(),
    enclosingFunctions: new Set(),
    variables: openVariableFlow(),
    out: [],
    open: undefined,
    mode: BARE,
    string: undefined,
    identifier: undefined,
    enclosingQuotes: undefined,
    calls: [],
    isCopyTarget: false,
    seen: [],
    problem: (offset, message) => problems.push({ severity: "error", offset, message }),
    warning: (offset, message) => problems.push({ severity: "warning", offset, message }),
    securityWarning: (offset, message) => problems.push({ severity: "warning", offset, message, security: true }),
  };
}

/** Emits the author's own SQL. */
export function emitSql(text: string, offset: number, compilation: Compilation, blank = false): void {
  if (text === "") return;
  const { open } = compilation;
  if (open !== undefined && open === compilation.out.at(-1) && open.offset + open.text.length === offset) {
    open.text += text;
    open.blank &&= blank;
    return;
  }
  const piece: SqlPiece = { kind: "sql", text, offset, blank };
  compilation.out.push(piece);
  compilation.open = piece;
}

/** Records a token of bare SQL at `offset` in the template. */
export function recordToken(token: SeenToken, offset: number, compilation: Compilation): void {
  const { seen, calls, variables, dialect } = compilation;
  seen.push(token);
  if (seen[0]?.text === "COPY" && calls.length === 0 && (token.text === "TO" || token.text === "FROM")) {
    compilation.isCopyTarget = true;
  }
  variables.addToken(token.text);
  for (const name of dialect.variablesPassedBy(nameOf(token))) {
    variables.addUse(name, { kind: "name", function: nameOf(token) }, offset);
  }
  // Only the first token, which shows the kind of statement, and the last ones before a tag are needed.
  if (seen.length > 12) seen.splice(1, 1);
}

/** Records a client value at this position. */
export function recordValue({ valueClass }: CallValueRef, { calls, variables, enclosingFunctions }: Compilation): void {
  variables.addValue(valueClass);
  if (valueClass === "enum") return;
  // A view may read the variable.
  if (variables.isSettingVariable()) enclosingFunctions.add("getvariable");
  for (const { name } of calls) if (name !== "") enclosingFunctions.add(name);
}

/** Resets the state at a `;`, for the next statement. */
export function endStatement(compilation: Compilation): void {
  compilation.calls = [];
  compilation.seen = [];
  compilation.isCopyTarget = false;
  compilation.variables.endStatement();
}

/** Whether a tag here would continue a word: `sales_{{params.year}}`. */
export function endsWithWordCharacter(compilation: Compilation): boolean {
  const last = compilation.out.at(-1);
  return last?.kind === "sql" && /[\w$\u0080-\uffff]$/.test(last.text);
}
