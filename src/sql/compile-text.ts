import { type Compilation, emitSql, endStatement, recordToken, type SeenToken } from "./compilation.ts";
import { finishIdentifier, finishString } from "./finish-literal.ts";
import { sqlCallAround } from "./inner-sql.ts";
import { BARE, readBareToken, readComment, readQuoted, readString, type StringStyle } from "./sql-lexer.ts";
import { positionOf } from "./surroundings.ts";
import { literalMacro } from "./template.ts";
import { nameOf } from "./whole-tokens.ts";

/** Compiles text that is not from a client: the template's own, or configuration. */
export function compileText(text: string, offset: number, compilation: Compilation): void {
  invalidateStarts(compilation);
  // If a section before this text is left out, two dashes or quotes must not become adjacent and change their meaning. Nor must
  // a word that ends with a tag absorb the start of a literal: in `t_42E'x'` or `t_42$$x$$`, it would be part of the name.
  if (compilation.mode.kind === "bare" && /^(?:[-/*'"$]|\w')/.test(text)) emitSql(" ", offset, compilation, true);
  let at = compilation.mode.kind === "bare" ? compileRestOfWord(text, offset, compilation) : 0;
  while (at < text.length) at = compileNext(text, at, offset, compilation);
}

const REST_OF_WORD = /^[\w\u0080-\uffff][\w$\u0080-\uffff]*/;

/** After a tag, even digits continue a name: `t_{{params.n}}1$a`. Returns where the name ends. */
function compileRestOfWord(text: string, offset: number, compilation: Compilation): number {
  const kind = compilation.out.at(-1)?.kind;
  if (kind !== "word-part" && kind !== "inline") return 0;
  const rest = REST_OF_WORD.exec(text)?.[0] ?? "";
  if (rest === "") return 0;
  recordToken({ text: rest.toUpperCase(), start: 0, end: rest.length }, offset, compilation);
  emitSql(wordFor(rest, text.slice(rest.length), compilation), offset, compilation);
  return rest.length;
}

/** Indexes into an earlier text node are invalid in this one. */
function invalidateStarts(compilation: Compilation): void {
  if (compilation.seen.length > 0) compilation.seen = compilation.seen.map((token) => ({ ...token, start: -1 }));
  if (compilation.calls.length > 0) compilation.calls = compilation.calls.map((call) => ({ ...call, start: -1 }));
}

function compileNext(text: string, at: number, offset: number, compilation: Compilation): number {
  const { mode } = compilation;
  switch (mode.kind) {
    case "bare":
      return compileBare(text, at, offset, compilation);
    case "line-comment":
    case "block-comment": {
      const rest = readComment(text, at, mode, compilation.dialect);
      compilation.mode = rest.mode;
      emitSql(text.slice(at, rest.end), offset + at, compilation, true);
      return rest.end;
    }
    case "identifier":
    case "string":
      return compileQuoted(text, at, offset, compilation);
  }
}

function compileQuoted(text: string, at: number, offset: number, compilation: Compilation): number {
  const quotes = compilation.string ?? compilation.identifier;
  if (quotes === undefined) throw new Error("no quotes are open");
  const rest = compilation.string ? readString(text, at, compilation.string.style) : readQuoted(text, at, '"');
  if (rest.value !== "") quotes.parts.push({ kind: "text", text: rest.value });
  quotes.source += text.slice(at, rest.end);
  if (rest.end === undefined) return text.length;
  if (compilation.enclosingQuotes === quotes) {
    compilation.problem(offset + rest.end - 1, "a section inside quotes must not close them");
  }
  if (compilation.string) {
    finishString(compilation.string, text.slice(rest.end), compilation);
    compilation.string = undefined;
  } else {
    finishIdentifier(quotes, compilation);
    compilation.identifier = undefined;
  }
  compilation.mode = BARE;
  return rest.end;
}

function compileBare(text: string, at: number, offset: number, compilation: Compilation): number {
  const token = readBareToken(text, at, compilation.dialect);
  const end = at + token.length;
  const source = text.slice(at, end);
  switch (token.kind) {
    case "space":
      emitSql(source, offset + at, compilation, true);
      return end;
    case "word":
      recordToken({ text: source.toUpperCase(), start: at, end }, offset + at, compilation);
      emitSql(wordFor(source, text.slice(end), compilation), offset + at, compilation);
      return end;
    case "symbol":
      compileSymbol(source, at, offset, compilation);
      return end;
    case "placeholder":
      compilation.problem(
        offset + at,
        `'${source}' is a placeholder of prepared statements; values are written as tags, for example {{params.id}}`,
      );
      recordToken({ text: source, start: at, end }, offset + at, compilation);
      return end;
    case "open-line-comment":
      compilation.mode = { kind: "line-comment" };
      emitSql(source, offset + at, compilation, true);
      return end;
    case "open-block-comment":
      compilation.mode = { kind: "block-comment", depth: 1 };
      emitSql(source, offset + at, compilation, true);
      return end;
    case "open-identifier":
      compilation.mode = { kind: "identifier" };
      compilation.identifier = { offset: offset + at, source, parts: [], hasClientValue: false, hasTrustedText: false };
      return end;
    case "open-string":
      openString(text, at, source, token.style, offset, compilation);
      return end;
  }
}

function compileSymbol(symbol: string, at: number, offset: number, compilation: Compilation): void {
  if (symbol === ";") {
    compilation.out.push({ kind: "separator" });
    endStatement(compilation);
    return;
  }
  if (symbol === "(") {
    const before = compilation.seen.at(-1);
    const isName = before !== undefined && /^[\w\u0080-\uffff"]/.test(before.text);
    const name = isName ? nameOf(before) : "";
    if (name === "getvariable") compilation.variables.addUse(undefined, positionOf(compilation), offset + at);
    compilation.calls.push({ name, start: isName ? before.start : -1, inner: "bare" });
  }
  const currentCall = symbol === "," ? compilation.calls.at(-1) : undefined;
  if (currentCall !== undefined) currentCall.inner = "bare";
  const closedCall = symbol === ")" ? compilation.calls.pop() : undefined;
  // `DECIMAL(10, 2) '...'`: the closing parenthesis is recorded as the type that it ends.
  const type = closedCall?.name.toUpperCase() ?? "";
  recordToken(
    { text: compilation.dialect.literalTypes.has(type) ? type : symbol, start: closedCall?.start ?? at, end: at + 1 },
    offset + at,
    compilation,
  );
  emitSql(symbol, offset + at, compilation);
}

/** Databases quote differently: `sql_literal` becomes the macro for the one that runs the SQL. */
function wordFor(word: string, rest: string, compilation: Compilation): string {
  if (word.toLowerCase() !== "sql_literal" || !/^\s*\(/.test(rest)) return word;
  const around = sqlCallAround(compilation);
  return around === undefined ? word : literalMacro(around.quoting);
}

function openString(
  text: string,
  at: number,
  source: string,
  style: StringStyle,
  offset: number,
  compilation: Compilation,
): void {
  const type = typeBefore(compilation);
  let typePrefix = "";
  let typeName = "";
  if (type !== undefined) {
    typePrefix = text.slice(type.start, at);
    typeName = text.slice(type.start, compilation.seen.at(-1)?.end);
    dropEmitted(at - type.start, compilation);
  }
  compilation.mode = { kind: "string", style };
  compilation.string = {
    offset: offset + at,
    source,
    parts: [],
    hasClientValue: false,
    hasTrustedText: false,
    style,
    typePrefix,
    typeName,
    position: positionOf(compilation),
    isFirstArgument: compilation.seen.at(-1)?.text === "(",
  };
}

/** The type right before this position, in the same text node. */
function typeBefore({ seen, dialect }: Compilation): SeenToken | undefined {
  const last = seen.at(-1);
  if (last === undefined) return undefined;
  if (last.text === "ZONE" && seen.at(-2)?.text === "TIME" && /^WITH(OUT)?$/.test(seen.at(-3)?.text ?? "")) {
    const type = seen.at(-4);
    return type !== undefined && type.start >= 0 && /^TIME(STAMP)?$/.test(type.text) ? type : undefined;
  }
  return last.start >= 0 && dialect.literalTypes.has(last.text) ? last : undefined;
}

function dropEmitted(length: number, compilation: Compilation): void {
  const last = compilation.out.at(-1);
  if (last?.kind !== "sql" || last.text.length < length)
    throw new Error("the type before a literal was not emitted with it");
  const text = last.text.slice(0, last.text.length - length);
  compilation.out.pop();
  if (text !== "") compilation.out.push({ ...last, text, blank: last.blank || text.trim() === "" });
}
