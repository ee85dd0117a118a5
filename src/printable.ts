/** Control characters, line separators, characters that change the text direction, and lone surrogates. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Escapes, as in JSON, all characters that could control a terminal or break a log line. For untrusted text. */
export function escapeUnprintable(text: string): string {
  return text.replace(UNPRINTABLE, escapeCharacter);
}

/** Like `escapeUnprintable`, but keeps line feeds and tabs. */
export function escapeUnprintableInLines(text: string): string {
  return text.replace(UNPRINTABLE, (character) =>
    character === "\n" || character === "\t" ? character : escapeCharacter(character),
  );
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
