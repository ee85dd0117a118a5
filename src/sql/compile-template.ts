import { type Compilation, openCompilation } from "./compilation.ts";
import { compileText } from "./compile-text.ts";
import type { Dialect } from "./dialect.ts";
import { forgetInnerIfChanged, innerStateHere } from "./inner-sql.ts";
import { type MustacheNode, parseMustache } from "./mustache-nodes.ts";
import { placeTag } from "./place-tag.ts";
import { resolveName, type TemplateScope } from "./scope.ts";
import { sharePlaceholders } from "./share-placeholders.ts";
import { BARE } from "./sql-lexer.ts";
import type { Piece, Template, TemplateProblem } from "./template.ts";

/** Compiles a template into pieces, each tag according to the SQL around it. */
export function compileTemplate(
  text: string,
  scope: TemplateScope,
  dialect: Dialect,
): { readonly template: Template; readonly problems: readonly TemplateProblem[] } {
  const { nodes, problems } = parseMustache(text);
  const compilation = openCompilation(scope, dialect, [...problems]);
  compileNodes(nodes, compilation);
  if (compilation.string !== undefined) {
    compilation.problem(compilation.string.offset, "this string literal is never closed");
  } else if (compilation.identifier !== undefined) {
    compilation.problem(compilation.identifier.offset, "this quoted name is never closed");
  } else if (compilation.mode.kind === "block-comment") {
    compilation.problem(text.length, "a /* comment is never closed");
  }
  const { out, reads, enforcedEnums, bareEnums, enclosingFunctions, problems: found, variables } = compilation;
  return {
    template: {
      pieces: sharePlaceholders(out),
      reads,
      enforcedEnums: new Set([...enforcedEnums, ...bareEnums]),
      bareEnums: new Map([...bareEnums].map((name) => [name, enforcedEnums.has(name)])),
      enclosingFunctions,
    },
    problems: [...found, ...variables.problems()],
  };
}

const UNBALANCED = "a section must not open or close quotes or comments; put the whole of them inside or outside";

function compileNodes(nodes: readonly MustacheNode[], compilation: Compilation): void {
  nodes.forEach((node, index) => {
    switch (node.kind) {
      case "text":
        compileText(node.text, node.offset, compilation);
        break;
      case "tag":
        compileTag(node, nodes[index + 1], compilation);
        break;
      case "section":
        compileSection(node, nodes[index + 1], compilation);
        break;
    }
  });
}

function compileTag(
  { name, offset }: Extract<MustacheNode, { kind: "tag" }>,
  next: MustacheNode | undefined,
  compilation: Compilation,
): void {
  if (isInComment(compilation)) return;
  const resolved = resolveName(name, compilation.scope);
  switch (resolved.kind) {
    case "client": {
      compilation.reads.set(`${resolved.ref.scope}.${resolved.ref.name}`, resolved.ref);
      const touchesNext = next?.kind === "text" && /^[\w$\u0080-\uffff]/.test(next.text);
      placeTag(resolved.ref, offset, touchesNext, compilation);
      return;
    }
    case "trusted":
      placeTrusted(
        name === "cache.schema" ? qualifySchema(resolved.text, next, compilation) : resolved.text,
        offset,
        compilation,
      );
      return;
    // A section of an unset name is not compiled, so tags inside it do not get here.
    case "never-set":
    case "unset":
    case "unknown":
      compilation.problem(offset, resolved.message);
      return;
  }
}

/** Adds the catalog of the caches to `{{cache.schema}}.{{cache.table}}`, which would otherwise refer to the default catalog. */
function qualifySchema(schema: string, next: MustacheNode | undefined, compilation: Compilation): string {
  const { scope, out, string, identifier } = compilation;
  const catalog = scope.cache.get("catalog");
  const last = out.at(-1);
  const isQualified = last?.kind === "sql" && /\.\s*$/.test(last.text);
  const qualifies = next?.kind === "text" && /^\s*\./.test(next.text);
  if (catalog === undefined || isQualified || !qualifies || string !== undefined || identifier !== undefined)
    return schema;
  return `${catalog}.${schema}`;
}

/** Configuration is trusted: outside quotes it is SQL, inside quotes it is part of their content. */
function placeTrusted(text: string, offset: number, compilation: Compilation): void {
  const quotes = compilation.string ?? compilation.identifier;
  if (quotes === undefined) {
    compileText(text, offset, compilation);
    return;
  }
  quotes.parts.push({ kind: "text", text });
  quotes.hasTrustedText = true;
}

function compileSection(
  node: Extract<MustacheNode, { kind: "section" }>,
  next: MustacheNode | undefined,
  compilation: Compilation,
): void {
  if (isInComment(compilation)) {
    const { mode } = compilation;
    compileNodes(node.children, compilation);
    if (compilation.mode.kind !== mode.kind) compilation.problem(node.offset, UNBALANCED);
    return;
  }
  const resolved = resolveName(node.name, compilation.scope);
  switch (resolved.kind) {
    case "unknown":
      compilation.problem(node.offset, resolved.message);
      return;
    case "trusted":
      if (!node.inverted) compileNodes(node.children, compilation);
      return;
    case "unset":
      if (node.inverted) compileNodes(node.children, compilation);
      return;
    case "never-set":
      compilation.warning(node.offset, resolved.sectionWarning);
      if (node.inverted) compileNodes(node.children, compilation);
      return;
    case "client":
      break;
  }
  compilation.reads.set(`${resolved.ref.scope}.${resolved.ref.name}`, resolved.ref);
  const { inverted, offset } = node;
  const before = { mode: compilation.mode, string: compilation.string, identifier: compilation.identifier };
  const quotes = before.string ?? before.identifier;
  if (quotes !== undefined) {
    const outer = quotes.parts;
    const enclosingQuotes = compilation.enclosingQuotes;
    quotes.parts = [];
    compilation.enclosingQuotes = quotes;
    compileNodes(node.children, compilation);
    compilation.enclosingQuotes = enclosingQuotes;
    // The section closed the quotes. This has already been reported.
    if ((compilation.string ?? compilation.identifier) !== quotes) return;
    outer.push({ kind: "section", ref: resolved.ref, inverted, parts: quotes.parts });
    quotes.parts = outer;
    quotes.hasClientValue = true;
    return;
  }
  const out = compilation.out;
  const pieces: Piece[] = [];
  const calls = [...compilation.calls];
  const inner = innerStateHere(compilation);
  compilation.out = pieces;
  compileNodes(node.children, compilation);
  compilation.out = out;
  // If a section opens or closes parentheses, assume the deeper nesting, which is stricter.
  if (compilation.calls.length < calls.length) compilation.calls = calls;
  forgetInnerIfChanged(inner, compilation);
  if (compilation.mode.kind === "line-comment" && before.mode.kind === "bare") {
    if (next !== undefined && !(next.kind === "text" && /^[ \t]*[\r\n]/.test(next.text))) {
      compilation.problem(offset, "a section must not end inside a comment; end the line before the section ends");
    }
    pieces.push({ kind: "sql", text: "\n", offset, blank: true });
    compilation.mode = BARE;
  }
  if (compilation.mode.kind !== before.mode.kind || compilation.string !== undefined) {
    compilation.problem(offset, UNBALANCED);
    compilation.mode = before.mode;
    compilation.string = undefined;
    compilation.identifier = undefined;
    return;
  }
  if (pieces.length > 0) out.push({ kind: "section", ref: resolved.ref, inverted, pieces, offset });
}

function isInComment(compilation: Compilation): boolean {
  return compilation.mode.kind === "line-comment" || compilation.mode.kind === "block-comment";
}
