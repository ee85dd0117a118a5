import { type Document, isMap, LineCounter, type ParsedNode, parseAllDocuments, Schema, type YAMLMap } from "yaml";
import { type Directive, maskDirectives } from "./directives.ts";
import type { Files } from "./files.ts";
import { errorAt, locationOf, type Report, type Source } from "./tree.ts";

/** A file that was parsed once: its top-level mapping, not yet read into data. */
export interface YamlFile {
  /** Absolute path. */
  readonly path: string;
  readonly source: Source;
  /** What the parser saw: the original with its directives masked, of the same length. */
  readonly text: string;
  readonly directives: readonly Directive[];
  readonly root: YAMLMap.Parsed;
}

/** One schema for all files: making one per document costs as much as parsing it. */
const schema = new Schema({ schema: "core", merge: true });

export type Opened =
  | { readonly kind: "parsed"; readonly file: YamlFile }
  | { readonly kind: "absent" }
  /** It cannot be read or is not sound YAML. The problem is reported. */
  | { readonly kind: "broken" };

export type OpenYaml = (path: string) => Opened;

/** Parses every file once, however many include it. */
export function openYamlFiles(files: Files, report: Report): OpenYaml {
  const opened = new Map<string, Opened>();
  return (path) => {
    const known = opened.get(path);
    if (known !== undefined) return known;
    const fresh = openYaml(path, files, report);
    opened.set(path, fresh);
    return fresh;
  };
}

function openYaml(path: string, files: Files, report: Report): Opened {
  const read = files.read(path);
  if (read.ok) {
    const file = parseYaml(path, read.text, files, report);
    return file === undefined ? { kind: "broken" } : { kind: "parsed", file };
  }
  if (read.why.kind === "absent") return { kind: "absent" };
  report(errorAt({ file: files.display(path), line: 1, column: 1 }, [], `cannot be read: ${read.why.reason}`));
  return { kind: "broken" };
}

function parseYaml(path: string, original: string, files: Files, report: Report): YamlFile | undefined {
  const lines = new LineCounter();
  const source: Source = { file: files.display(path), lines };
  const problem = (offset: number, message: string) => report(errorAt(locationOf({ source, offset }), [], message));

  const { text, directives, refused } = maskDirectives(original);
  if (refused !== undefined) {
    countLines(original, lines);
    problem(refused.offset, refused.message);
    return undefined;
  }
  const documents = parseDocuments(text, lines);
  if (documents === undefined) {
    countLines(original, lines);
    problem(0, "nested too deeply to be read; use fewer levels");
    return undefined;
  }
  const [document, second] = documents;
  if (second !== undefined) {
    problem(second.range[0], "a second YAML document; write one document per file");
    return undefined;
  }
  const root = document?.contents ?? undefined;
  let sound = true;
  for (const error of document?.errors ?? []) {
    // A key that is there twice leaves a mapping that can be read on, for the problems after it.
    if (error.code !== "DUPLICATE_KEY") sound = false;
    problem(error.pos[0], messageOf(error.code, error.message, { text, offset: error.pos[0] }));
  }
  if (!sound) return undefined;
  if (root === undefined || isEmptyScalar(root)) {
    problem(0, "the file is empty; an endpoint needs url-path, mcp-tool, mcp-resource or mcp-prompt");
    return undefined;
  }
  if (!isMap(root)) {
    problem(root.range[0], "expected a mapping of keys at the top level");
    return undefined;
  }
  return { path, source, text, directives, root };
}

function parseDocuments(text: string, lineCounter: LineCounter): readonly Document.Parsed<ParsedNode>[] | undefined {
  try {
    const parsed = parseAllDocuments<ParsedNode>(text, {
      schema,
      lineCounter,
      prettyErrors: false,
      logLevel: "silent",
    });
    return "empty" in parsed ? [] : parsed;
  } catch (error) {
    // The parser descends by recursion: a file of brackets exhausts the stack.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function isEmptyScalar(node: ParsedNode): boolean {
  return "value" in node && node.value === null;
}

function messageOf(code: string, message: string, at: { readonly text: string; readonly offset: number }): string {
  const start = at.text.lastIndexOf("\n", at.offset - 1) + 1;
  const line = at.text.slice(start, at.text.indexOf("\n", at.offset) >>> 0);
  if (/^[ ]*\t/.test(line)) return "a tab in the indentation; YAML takes spaces only";
  if (code === "DUPLICATE_KEY") return "the key is there twice; keep one of them";
  if (line.includes("\uFDD0")) {
    return `${sentence(message)}; a directive stands on a line of its own at the top level, or as the value of a key`;
  }
  if (line.includes("{{")) return `${sentence(message)}; put quotes around a value with {{...}}`;
  return `not valid YAML: ${sentence(message)}`;
}

function sentence(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1);
}

function countLines(text: string, lines: LineCounter): void {
  lines.lineStarts.length = 0;
  lines.addNewLine(0);
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines.addNewLine(at + 1);
}
