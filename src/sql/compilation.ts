import type { Dialect } from "./dialect.ts";
import type { TemplateScope } from "./scope.ts";
import { BARE, type Mode, type StringStyle } from "./sql-lexer.ts";
import type { Remote } from "./surroundings.ts";
import type { ClientRef, LiteralPart, Piece, TemplateProblem } from "./template.ts";

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
  /** Chooses a file or an address. */
  readonly choosesFile: boolean;
  readonly remote: Remote | undefined;
}

/** A parenthesis that is open, and the function before it (lower case), if any. */
export interface OpenCall {
  readonly name: string;
  /** Where the name starts in the text being read, when that is still the same text. */
  readonly start: number;
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
  out: Piece[];
  /** The piece that more text may be added to, when it is the last one. */
  open: SqlPiece | undefined;
  mode: Mode;
  string: OpenString | undefined;
  identifier: OpenQuotes | undefined;
  /** Quotes that a section stands in: they must not be closed inside it. */
  guarded: OpenQuotes | undefined;
  calls: OpenCall[];
  /** The statement has had a BY (ORDER BY, GROUP BY). */
  afterBy: boolean;
  scalarAfterBy: boolean;
  /** Bare tokens of the statement, upper case, the latest last; comments are not among them. */
  seen: SeenToken[];
  problem(offset: number, message: string): void;
  warning(offset: number, message: string): void;
}

export function openCompilation(scope: TemplateScope, dialect: Dialect, problems: TemplateProblem[]): Compilation {
  return {
    scope,
    dialect,
    problems,
    reads: new Map(),
    listsRelied: new Set(),
    out: [],
    open: undefined,
    mode: BARE,
    string: undefined,
    identifier: undefined,
    guarded: undefined,
    calls: [],
    afterBy: false,
    scalarAfterBy: false,
    seen: [],
    problem: (offset, message) => problems.push({ severity: "error", offset, message }),
    warning: (offset, message) => problems.push({ severity: "warning", offset, message }),
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

/** True when a tag at this place would continue a word: `sales_{{params.year}}`. */
export function lastCharacterIsWord(compilation: Compilation): boolean {
  const last = compilation.out.at(-1);
  return last?.kind === "sql" && /[\w$\u0080-\uffff]$/.test(last.text);
}
