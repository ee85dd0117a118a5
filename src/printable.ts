/** Control characters, line separators, characters that turn the direction of text, halves of characters. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Text of others for one line of a terminal or a log: what could act there, or end the line, is escaped as in JSON. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, escaped);
}

/** The same for text of several lines: line feeds and tabs stay. */
export function printableLines(text: string): string {
  return text.replace(UNPRINTABLE, (character) =>
    character === "\n" || character === "\t" ? character : escaped(character),
  );
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
