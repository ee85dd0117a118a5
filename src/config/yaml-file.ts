import {
  type Document,
  isMap,
  isScalar,
  LineCounter,
  type ParsedNode,
  parseAllDocuments,
  Schema,
  type YAMLMap,
} from "yaml";
import { type Directive, holdsToken, maskDirectives } from "./directives.ts";
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
  const [document, second] = documents ?? [];
  const errors = document?.errors ?? [];
  if (documents === undefined || errors.some(({ message }) => message.includes("call stack"))) {
    problem(0, "nested too deeply to be read; use fewer levels");
    return undefined;
  }
  if (second !== undefined) {
    problem(second.range[0], "a second YAML document; write one document per file");
    return undefined;
  }
  let sound = true;
  let previous = -1;
  for (const { code, message, pos } of errors) {
    // A key that is there twice leaves a mapping that can be read on, for the problems after it.
    if (code !== "DUPLICATE_KEY") sound = false;
    // What follows at the same place is a consequence.
    if (pos[0] !== previous) problem(pos[0], messageOf({ code, message, text, offset: pos[0] }));
    previous = pos[0];
  }
  if (!sound) return undefined;
  const root = document?.contents ?? undefined;
  if (root === undefined || (isScalar(root) && root.value === null)) {
    problem(0, "the file is empty; write at least one key");
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

interface SyntaxError {
  readonly code: string;
  readonly message: string;
  readonly text: string;
  readonly offset: number;
}

const INDENTATION = ["BAD_INDENT", "BLOCK_AS_IMPLICIT_KEY", "MULTILINE_IMPLICIT_KEY"];

function messageOf({ code, message, text, offset }: SyntaxError): string {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  const [line = ""] = text.slice(start).split("\n", 1);
  if (/^ *\t/.test(line)) return "a tab in the indentation; YAML takes spaces only";
  if (code === "DUPLICATE_KEY")
    return `the key '${line.slice(offset - start).split(":", 1)[0]}' is there twice; keep one`;
  const said = `not valid YAML: ${sentence(message)}`;
  if (holdsToken(line))
    return `${said}; an include stands on a line of its own at the top level, or as the value of a key`;
  if (line.includes("{{")) return `${said}; put quotes around a value with {{...}}`;
  return INDENTATION.includes(code) ? `${said}; check the indentation of this line and the next` : said;
}

function sentence(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1);
}

function countLines(text: string, lines: LineCounter): void {
  lines.lineStarts.length = 0;
  lines.addNewLine(0);
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines.addNewLine(at + 1);
}
