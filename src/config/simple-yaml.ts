import { emptyScalar, type YamlMap, type YamlNode, type YamlPair, type YamlScalar } from "./yaml-node.ts";

/**
 * Parses the subset of YAML that most endpoint files use: block mappings and lists, scalars on one line, short flow lists,
 * comments. Undefined if the text contains anything else. The full parser then reads it, but needs half a second for a
 * thousand endpoint files, as long as the whole startup may take. A test compares both.
 */
export function parseSimpleYaml(text: string): YamlMap | undefined {
  if (OUTSIDE_SUBSET.test(text)) return undefined;
  const lines = splitLines(text);
  const cursor: Cursor = { lines, next: 0 };
  const [first] = lines;
  if (first === undefined || first.indent !== 0) return undefined;
  const root = readMap(cursor, 0);
  return root === undefined || cursor.next < lines.length ? undefined : root;
}

/** Tabs, carriage returns and other control characters, document markers. */
const OUTSIDE_SUBSET = /[^\P{Cc}\n]|[\u2028\u2029\uFEFF]|^(?:---|\.\.\.|%)/mu;
const KEY = /^([A-Za-z][A-Za-z0-9_-]*|[\uFDD0-\uFDEF]+):(?= |$)/;
const CONSTANT = /^(?:~|null|true|false)$/i;
const INTEGER = /^-?(?:0|[1-9][0-9]{0,14})$/;
const NUMBER_LIKE = /^[-+.]?[0-9.]/;
const PLAIN_START = /^[A-Za-z0-9_/.$(<+~^;=\u00A1-\u1FFF\uFDD0-\uFDEF-]/;
const PLAIN_IN_LIST = /^[A-Za-z0-9_/.+$-][A-Za-z0-9_/. +$-]*$/;

interface Line {
  readonly indent: number;
  /** Without indentation and trailing white space. */
  readonly content: string;
  /** The offset of the content in the text. */
  readonly start: number;
}

interface Cursor {
  readonly lines: readonly Line[];
  next: number;
}

function splitLines(text: string): readonly Line[] {
  const lines: Line[] = [];
  let start = 0;
  while (start < text.length) {
    const newline = text.indexOf("\n", start);
    const end = newline < 0 ? text.length : newline;
    let indent = 0;
    while (text.charCodeAt(start + indent) === 32) indent++;
    const content = text.slice(start + indent, end).trimEnd();
    if (content !== "" && !content.startsWith("#")) lines.push({ indent, content, start: start + indent });
    start = end + 1;
  }
  return lines;
}

/** `head` is the first line of a mapping that follows a dash. The cursor is already past it. */
function readMap(cursor: Cursor, indent: number, head?: Line): YamlMap | undefined {
  const pairs: YamlPair[] = [];
  const names = new Set<string>();
  const start = head?.start ?? cursor.lines[cursor.next]?.start ?? 0;
  for (let line = head ?? cursor.lines[cursor.next]; line?.indent === indent; line = cursor.lines[cursor.next]) {
    if (line !== head) cursor.next++;
    head = undefined;
    const name = KEY.exec(line.content)?.[1];
    if (name === undefined || CONSTANT.test(name) || names.has(name)) return undefined;
    names.add(name);
    const rest = { indent, content: line.content.slice(name.length + 1), start: line.start + name.length + 1 };
    const value = rest.content === "" ? readBelow(cursor, rest) : readOnLine(cursor, rest);
    if (value === undefined) return undefined;
    pairs.push({ key: scalar(name, line.start), value });
  }
  return { kind: "map", pairs, start };
}

function readList(cursor: Cursor, indent: number): YamlNode | undefined {
  const items: YamlNode[] = [];
  const start = cursor.lines[cursor.next]?.start ?? 0;
  for (let line = cursor.lines[cursor.next]; line?.indent === indent; line = cursor.lines[cursor.next]) {
    if (!line.content.startsWith("- ")) break;
    cursor.next++;
    const dashWidth = line.content.length - line.content.slice(1).trimStart().length;
    const content = line.content.slice(dashWidth);
    const inner = { indent: indent + dashWidth, content, start: line.start + dashWidth };
    const item = KEY.test(content) ? readMap(cursor, inner.indent, inner) : readOnLine(cursor, { ...inner, indent });
    if (item === undefined) return undefined;
    items.push(item);
  }
  return { kind: "list", items, start };
}

/** The block below `key:`, if any. A list may have the same indentation as the key. */
function readBelow(cursor: Cursor, { indent, start }: Line): YamlNode | undefined {
  const below = cursor.lines[cursor.next];
  if (below === undefined || below.indent < indent) return emptyScalar(start);
  if (below.content.startsWith("- ")) return readList(cursor, below.indent);
  return below.indent === indent ? emptyScalar(start) : readMap(cursor, below.indent);
}

/** The value after `key:` or `-`. It must not continue on the next lines. */
function readOnLine(cursor: Cursor, line: Line): YamlNode | undefined {
  const below = cursor.lines[cursor.next];
  if (below !== undefined && below.indent > line.indent) return undefined;
  const content = line.content.trimStart();
  return readInline(content, line.start + line.content.length - content.length);
}

function readInline(content: string, start: number): YamlNode | undefined {
  switch (content[0]) {
    case '"':
    case "'":
      return readQuoted(content, start);
    case "[":
      return readFlowList(content, start);
    default: {
      const comment = content.indexOf(" #");
      return readPlain(comment < 0 ? content : content.slice(0, comment).trimEnd(), start);
    }
  }
}

function readQuoted(content: string, start: number): YamlScalar | undefined {
  const quote = content.charAt(0);
  const close = content.indexOf(quote, 1);
  // Doubled quotes and escapes are not part of this subset.
  if (close < 0 || content[close + 1] === quote || !/^(?: +#.*)?$/.test(content.slice(close + 1))) return undefined;
  const value = content.slice(1, close);
  if (quote === '"' && value.includes("\\")) return undefined;
  const style = quote === '"' ? "double" : "single";
  return { kind: "scalar", value, source: value, style, start, end: start + close + 1 };
}

function readPlain(value: string, start: number): YamlScalar | undefined {
  if (!PLAIN_START.test(value) || value === "-" || value.startsWith("- ")) return undefined;
  if (value.includes(": ") || value.endsWith(":")) return undefined;
  if (INTEGER.test(value) && value !== "-0") return { ...scalar(value, start), value: Number(value) };
  if (value === "true" || value === "false") return { ...scalar(value, start), value: value === "true" };
  return CONSTANT.test(value) || NUMBER_LIKE.test(value) ? undefined : scalar(value, start);
}

function readFlowList(content: string, start: number): YamlNode | undefined {
  const close = content.indexOf("]");
  if (close < 0 || !/^(?: +#.*)?$/.test(content.slice(close + 1))) return undefined;
  const inside = content.slice(1, close);
  const items: YamlNode[] = [];
  let at = start + 1;
  for (const piece of inside.trim() === "" ? [] : inside.split(",")) {
    const written = piece.trim();
    const offset = at + piece.length - piece.trimStart().length;
    const quoted = written.startsWith('"') || written.startsWith("'");
    if (!quoted && !PLAIN_IN_LIST.test(written)) return undefined;
    const item = quoted ? readQuoted(written, offset) : readPlain(written, offset);
    if (item === undefined) return undefined;
    items.push(item);
    at += piece.length + 1;
  }
  return { kind: "list", items, start };
}

function scalar(value: string, start: number): YamlScalar {
  return { kind: "scalar", value, source: value, style: "plain", start, end: start + value.length };
}
