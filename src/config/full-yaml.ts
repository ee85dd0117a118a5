import { type Document, isAlias, isMap, isScalar, type ParsedNode, parseAllDocuments, Schema } from "yaml";
import { containsToken } from "./directives.ts";
import { emptyScalar, type YamlNode, type YamlScalar } from "./yaml-node.ts";

/** The parsed YAML, or its problems. After a duplicate key, there are both. */
export interface FullYaml {
  readonly root: YamlNode | undefined;
  readonly problems: readonly { readonly offset: number; readonly message: string }[];
}

/** Shared by all files, because creating a schema takes as long as parsing a document. */
const schema = new Schema({ schema: "core", merge: true });

const TOO_DEEP: FullYaml = {
  root: undefined,
  problems: [{ offset: 0, message: "nested too deeply to be read; use fewer levels" }],
};

export function parseFullYaml(text: string): FullYaml {
  try {
    return readDocuments(text);
  } catch (error) {
    // The parser is recursive, so many nested brackets exhaust the stack.
    if (error instanceof RangeError) return TOO_DEEP;
    throw error;
  }
}

function readDocuments(text: string): FullYaml {
  const parsed = parseAllDocuments<ParsedNode>(text, { schema, prettyErrors: false, logLevel: "silent" });
  const documents: readonly Document.Parsed<ParsedNode>[] = "empty" in parsed ? [] : parsed;
  const [document, second] = documents;
  const errors = document?.errors ?? [];
  if (errors.some(({ message }) => message.includes("call stack"))) return TOO_DEEP;
  const jinja = errors.length === 0 ? -1 : text.search(/\{%/);
  if (jinja >= 0) {
    const message =
      "'{% ... %}' is Jinja, which Eider does not use; write plain YAML, and share blocks with {{include:...}}";
    return { root: undefined, problems: [{ offset: jinja, message }] };
  }
  if (second !== undefined) {
    const message = "a second YAML document; write one document per file";
    return { root: undefined, problems: [{ offset: second.range[0], message }] };
  }
  const problems = errors
    // Further errors at the same position are consequences of the first.
    .filter(({ pos }, index) => errors[index - 1]?.pos[0] !== pos[0])
    .map(({ code, message, pos }) => ({ offset: pos[0], message: messageOf({ code, message, text, offset: pos[0] }) }));
  // After a duplicate key, the mapping is still readable, so later problems are reported too.
  const readable = errors.every(({ code }) => code === "DUPLICATE_KEY");
  const contents = document?.contents ?? undefined;
  return { root: readable && contents !== undefined ? fromLibrary(contents) : undefined, problems };
}

function fromLibrary(node: ParsedNode): YamlNode {
  const start = node.range[0];
  if (isAlias(node)) return { kind: "alias", name: node.source, start };
  const { anchor } = node;
  if (isScalar(node)) {
    const { value, source = "" } = node;
    return {
      kind: "scalar",
      value: plainValue(value),
      source,
      style: styleOf(node.type),
      start,
      end: node.range[1],
      anchor,
    };
  }
  if (isMap(node)) {
    const pairs = node.items.map(({ key, value }) => ({ key: fromLibrary(key), value: orEmpty(value, key) }));
    return { kind: "map", pairs, start, anchor };
  }
  const items = node.items.map((item) => ("range" in item ? fromLibrary(item) : emptyScalar(start)));
  return { kind: "list", items, start, anchor };
}

function orEmpty(value: ParsedNode | null, key: ParsedNode): YamlNode {
  return value === null ? emptyScalar(key.range[1]) : fromLibrary(value);
}

function plainValue(value: unknown): YamlScalar["value"] {
  switch (typeof value) {
    case "string":
    case "number":
    case "bigint":
    case "boolean":
      return value;
    default:
      return null;
  }
}

function styleOf(type: string | null | undefined): YamlScalar["style"] {
  if (type === "QUOTE_DOUBLE") return "double";
  if (type === "QUOTE_SINGLE") return "single";
  return type === "BLOCK_LITERAL" || type === "BLOCK_FOLDED" ? "block" : "plain";
}

interface SyntaxProblem {
  readonly code: string;
  readonly message: string;
  readonly text: string;
  readonly offset: number;
}

const INDENTATION = ["BAD_INDENT", "BLOCK_AS_IMPLICIT_KEY", "MULTILINE_IMPLICIT_KEY"];

function messageOf({ code, message, text, offset }: SyntaxProblem): string {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  const [line = ""] = text.slice(start).split("\n", 1);
  if (/^ *\t/.test(line)) return "a tab in the indentation; YAML takes spaces only";
  if (code === "DUPLICATE_KEY")
    return `the key '${line.slice(offset - start).split(":", 1)[0]}' is there twice; keep one`;
  const problem = `not valid YAML: ${message.charAt(0).toLowerCase()}${message.slice(1)}`;
  const hint = hintFor(code, line);
  return hint === undefined ? problem : `${problem}; ${hint}`;
}

/** `summary: a: b` is two mappings in one line. */
const COLON_IN_VALUE = /^\s*(?:- +)*[^\s:#'"]+:\s+[^\s'"|>{[&*][^#]*:(?:\s|$)/;

/** How to fix a line that is not valid YAML. */
function hintFor(code: string, line: string): string | undefined {
  if (containsToken(line)) return "an include must be on a line of its own at the top level, or as the value of a key";
  if (line.includes("{{")) return "put quotes around a value with {{...}}";
  if (COLON_IN_VALUE.test(line)) return "put quotes around a value that contains a colon";
  if (/:\s+[@`%]/.test(line)) return "put quotes around the value";
  if (/:\s+'[^']*'[^'\s#]/.test(line)) return "put double quotes around a value with an apostrophe";
  if (/:\s+[|>]\s*[^\s#+-]/.test(line)) return "the text of a block begins on the next line";
  if (code === "MISSING_CHAR" && /["']/.test(line)) return "close the quotes";
  if (/^\s*(?:- +)*[\w-]+(?::\S|\s+[^:\s]|$)/.test(line)) return "write 'key: value', with a space after the colon";
  return INDENTATION.includes(code) ? "check the indentation of this line and the next" : undefined;
}
