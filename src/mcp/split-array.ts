const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN = new Set([0x5b, 0x7b]);
const CLOSE = new Set([0x5d, 0x7d]);

/** The texts of the entries of a text that is known to be a JSON array with some. Nothing here recurses. */
export function splitArray(text: string): readonly string[] {
  const entries: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = text.indexOf("["); index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) index = closingQuote(text, index);
    else if (OPEN.has(code)) {
      depth++;
      if (depth === 1) start = index + 1;
    } else if (CLOSE.has(code)) {
      depth--;
      if (depth === 0) entries.push(text.slice(start, index));
    } else if (code === COMMA && depth === 1) {
      entries.push(text.slice(start, index));
      start = index + 1;
    }
  }
  return entries;
}

function closingQuote(text: string, start: number): number {
  let index = start + 1;
  for (let code = text.charCodeAt(index); code !== QUOTE; code = text.charCodeAt(index)) {
    index += code === BACKSLASH ? 2 : 1;
  }
  return index;
}
