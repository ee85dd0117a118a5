const EXCERPT = /\nLINE (\d+): ([^\n]*)\n( *)\^/;
const ELLIPSIS = "...";

/** The position in `sql` that DuckDB's message points to, in UTF-16 units. Undefined when it shows none. */
export function errorPosition(message: string, sql: string): number | undefined {
  if (/^Parser Error: syntax error at end of input/.test(message)) return sql.trimEnd().length;
  const [, number, shown, blanks] = EXCERPT.exec(message) ?? [];
  if (number === undefined || shown === undefined || blanks === undefined) return undefined;
  const lines = sql.split("\n");
  const index = Number(number) - 1;
  const line = lines[index];
  if (line === undefined) return undefined;
  const lineStart = lines.slice(0, index).reduce((sum, before) => sum + before.length + 1, 0);
  const column = columnOf(line, shown, blanks.length - `LINE ${number}: `.length);
  return column === undefined ? undefined : lineStart + column;
}

/** DuckDB shows a part of a long line, and places its caret by display width. */
function columnOf(line: string, shown: string, width: number): number | undefined {
  const within = indexAtWidth(shown, width);
  if (line.startsWith(shown)) return within;
  const cutLeft = shown.startsWith(ELLIPSIS);
  const piece = shown.slice(cutLeft ? ELLIPSIS.length : 0, shown.endsWith(ELLIPSIS) ? -ELLIPSIS.length : undefined);
  const at = cutLeft ? line.indexOf(piece) : 0;
  // A piece that occurs several times is ambiguous.
  if (at < 0 || (cutLeft && line.indexOf(piece, at + 1) >= 0) || !line.startsWith(piece, at)) return undefined;
  return at + within - (cutLeft ? ELLIPSIS.length : 0);
}

function indexAtWidth(text: string, width: number): number {
  let seen = 0;
  let index = 0;
  for (const character of text) {
    const next = seen + widthOf(character);
    if (next > width) break;
    seen = next;
    index += character.length;
  }
  return index;
}

const NO_WIDTH = /^[\p{Cc}\p{Mn}\p{Me}\p{Cf}]$/u;
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}])$/u;

function widthOf(character: string): number {
  if (character >= " " && character <= "~") return 1;
  return NO_WIDTH.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
}
