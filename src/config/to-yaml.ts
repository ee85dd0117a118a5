/**
 * Writes JSON data as YAML in block style. Ambiguous strings are quoted as in JSON, which is valid YAML. The `yaml` package
 * needs seconds for a document of three megabytes, and blocks other requests meanwhile. A test parses the output with it.
 */
export function toYaml(data: unknown): string {
  if (isFilled(data)) return `${writeNested(data, "")}\n`;
  return `${typeof data === "string" ? writeLine(data) : JSON.stringify(data)}\n`;
}

function isFilled(value: unknown): value is object {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

function writeNested(value: object, indent: string): string {
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    // The first line of an entry follows its dash.
    const afterDash = (item: unknown): string =>
      isFilled(item) ? writeNested(item, inner).slice(inner.length) : writeScalar(item, inner);
    return value.map((item) => `${indent}- ${afterDash(item)}`).join("\n");
  }
  const afterKey = (item: unknown): string =>
    isFilled(item) ? `\n${writeNested(item, inner)}` : ` ${writeScalar(item, inner)}`;
  return Object.entries(value)
    .map(([key, item]) => `${indent}${writeLine(key)}:${afterKey(item)}`)
    .join("\n");
}

function writeScalar(value: unknown, indent: string): string {
  if (typeof value !== "string") return JSON.stringify(value);
  return value.includes("\n") && PARAGRAPHS.test(value) ? writeParagraphs(value, indent) : writeLine(value);
}

/** Text that starts and ends with a visible character, except for one trailing line break. */
const PARAGRAPHS = /^[^\s\p{C}](?:[^\p{C}\p{Zl}\p{Zp}]|\n)*[^\s\p{C}]\n?$/u;

function writeParagraphs(text: string, indent: string): string {
  const lines = text.replace(/\n$/, "").split("\n");
  const body = lines.map((each) => (each === "" ? "" : `${indent}${each}`)).join("\n");
  return `${text.endsWith("\n") ? "|" : "|-"}\n${body}`;
}

const PLAIN = /^[A-Za-z/$_](?:[\w/$.,;{}()[\]+*'"`=<> -]*[\w/$.,;{}()[\]+*'"`=<>-])?$/;
/** Words that YAML 1.1 or 1.2 does not parse as strings. */
const WORDS = /^(?:y|n|yes|no|on|off|true|false|null)$/i;

function writeLine(text: string): string {
  return PLAIN.test(text) && !WORDS.test(text) ? text : JSON.stringify(text).replaceAll(UNPRINTABLE, escapeCharacter);
}

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;

function escapeCharacter(character: string): string {
  const codes = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return codes.map((code) => `\\u${code.toString(16).padStart(4, "0")}`).join("");
}
