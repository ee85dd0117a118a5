import type { Dialect } from "./dialect.ts";
import type { TemplateScope } from "./scope.ts";
import { BARE, type Mode, type StringStyle } from "./sql-lexer.ts";
import type { ClientRef, LiteralPart, Piece, TemplateProblem } from "./template.ts";
import type { ValuePlace } from "./value-place.ts";
import { openVariableFlow, type VariableFlow } from "./variable-flow.ts";
import { nameOf } from "./whole-tokens.ts";

/** Quotes that are open: their content so far. */
export interface OpenQuotes {
  readonly offset: number;
  /** The source so far, to be emitted untouched when it holds no tag. */
  source: string;
  parts: LiteralPart[];
  client: boolean;
  trusted: boolean;
}

export interface OpenString extends OpenQuotes {
  readonly style: StringStyle;
  /** The type before the literal (`DATE `), which belongs to it: `DATE '...'`. */
  readonly typePrefix: string;
  /** The same without comments and spaces around it. */
  readonly typeName: string;
  readonly place: ValuePlace;
  /** It is the first thing in its parentheses. */
  readonly opensCall: boolean;
}

/**
 * Where in the SQL that a function will run (`postgres_query('pg', 'SELECT ...')`) its text has come to: between tokens, inside
 * quotes or a comment. Unknown counts as between tokens, and lasts.
 */
export type InnerState = "bare" | "'" | '"' | "--" | "/*" | "unknown";

/** A parenthesis that is open, and the function before it (lower case), if any. */
export interface OpenCall {
  readonly name: string;
  /** Where the name starts in the text being read, when that is still the same text. */
  readonly start: number;
  /** Where the SQL that it takes has come to, if it takes any. */
  inner: InnerState;
}

/** A token of bare SQL that came before. `start` is its index in the text being read, -1 when it came in an earlier one. */
export interface SeenToken {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** The author's SQL that is still growing. */
interface SqlPiece {
  readonly kind: "sql";
  text: string;
  readonly offset: number;
  blank: boolean;
}

/** A compilation under way: where in SQL we are, what was emitted, what was found wrong. */
export interface Compilation {
  readonly scope: TemplateScope;
  readonly dialect: Dialect;
  readonly problems: TemplateProblem[];
  readonly reads: Map<string, ClientRef>;
  readonly listsRelied: Set<string>;
  /** Functions (lower case) around values that are no enums. */
  readonly functionsAround: Set<string>;
  readonly variables: VariableFlow;
  out: Piece[];
  /** The piece that more text may be added to, when it is the last one. */
  open: SqlPiece | undefined;
  mode: Mode;
  string: OpenString | undefined;
  identifier: OpenQuotes | undefined;
  /** Quotes that a section stands in: they must not be closed inside it. */
  guarded: OpenQuotes | undefined;
  calls: OpenCall[];
  /** Behind `COPY ... TO` or `COPY ... FROM`. */
  copyTarget: boolean;
  /** The statement has had a BY (ORDER BY, GROUP BY). */
  afterBy: boolean;
  scalarAfterBy: boolean;
  /** Bare tokens of the statement, upper case, the latest last; comments are not among them. */
  seen: SeenToken[];
  problem(offset: number, message: string): void;
  warning(offset: number, message: string): void;
  /** A warning of something unsafe. */
  securityWarning(offset: number, message: string): void;
}

export function openCompilation(scope: TemplateScope, dialect: Dialect, problems: TemplateProblem[]): Compilation {
  return {
    scope,
    dialect,
    problems,
    reads: new Map(),
    listsRelied: new Set(),
    functionsAround: new Set(),
    variables: openVariableFlow(),
    out: [],
    open: undefined,
    mode: BARE,
    string: undefined,
    identifier: undefined,
    guarded: undefined,
    calls: [],
    copyTarget: false,
    afterBy: false,
    scalarAfterBy: false,
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

/** Notes a token of bare SQL, which begins at `offset` of the template. */
export function noteToken(token: SeenToken, offset: number, compilation: Compilation): void {
  const { seen, calls, variables, dialect } = compilation;
  if (token.text === "BY") compilation.afterBy = true;
  seen.push(token);
  if (seen[0]?.text === "COPY" && calls.length === 0 && (token.text === "TO" || token.text === "FROM")) {
    compilation.copyTarget = true;
  }
  variables.token(token.text);
  for (const name of dialect.variablesBehind(nameOf(token))) {
    variables.use(name, { kind: "name", function: nameOf(token) }, offset);
  }
  // The first token shows the kind of statement, the last ones what precedes a tag.
  if (seen.length > 12) seen.splice(1, 1);
}

/** Notes that a client value stands here. */
export function noteValue({ traits }: ClientRef, { calls, variables, functionsAround }: Compilation): void {
  variables.value(traits);
  if (traits === "enum") return;
  // A view may read the variable.
  if (variables.isSetting()) functionsAround.add("getvariable");
  for (const { name } of calls) if (name !== "") functionsAround.add(name);
}

/** A `;`: the next statement begins. */
export function endStatement(compilation: Compilation): void {
  compilation.calls = [];
  compilation.seen = [];
  compilation.afterBy = false;
  compilation.copyTarget = false;
  compilation.variables.endStatement();
}

/** True when a tag here would continue a word: `sales_{{params.year}}`. */
export function lastCharacterIsWord(compilation: Compilation): boolean {
  const last = compilation.out.at(-1);
  return last?.kind === "sql" && /[\w$\u0080-\uffff]$/.test(last.text);
}
