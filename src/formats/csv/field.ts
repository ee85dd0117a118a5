import { reserve, type Sink } from "../values/sink.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const CR = 0x0d;
const LF = 0x0a;
/** Used instead of the last word if fewer than four bytes are left, so that they are copied one by one. */
const ALL_QUOTES = 0x2222_2222;

/** Quotes a string if a field requires it. For names and rare types. */
export function fieldOf(text: string): string {
  return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Writes `length` UTF-8 bytes from `start` as a field. Copies and checks four at a time. If the field needs quotes, it is
 * written again. An empty string is quoted, to distinguish it from NULL.
 */
export function writeField(sink: Sink, at: number, from: DataView, start: number, length: number): number {
  reserve(sink, at, length + 2);
  const out = sink.view;
  if (length < 4) {
    if (length === 0) return writeQuoted(sink, at, from, start, length);
    for (let index = 0; index < length; index++) {
      const byte = from.getUint8(start + index);
      if (isSpecial(byte)) return writeQuoted(sink, at, from, start, length);
      out.setUint8(at + index, byte);
    }
    return at + length;
  }
  const lastWord = length - 4;
  for (let index = 0; index < lastWord; index += 4) {
    const word = from.getInt32(start + index, true);
    if (hasSpecial(word)) return writeQuoted(sink, at, from, start, length);
    out.setInt32(at + index, word, true);
  }
  // The last four bytes, some of which are already copied.
  const word = from.getInt32(start + lastWord, true);
  if (hasSpecial(word)) return writeQuoted(sink, at, from, start, length);
  out.setInt32(at + lastWord, word, true);
  return at + length;
}

function isSpecial(byte: number): boolean {
  return byte === COMMA || byte === QUOTE || byte === CR || byte === LF;
}

/** Whether one of four bytes is special. XOR with four copies of a byte yields a zero byte where the word contains it. */
function hasSpecial(word: number): boolean {
  const quote = word ^ 0x2222_2222;
  const comma = word ^ 0x2c2c_2c2c;
  const cr = word ^ 0x0d0d_0d0d;
  const lf = word ^ 0x0a0a_0a0a;
  return (
    ((((quote - 0x0101_0101) & ~quote) |
      ((comma - 0x0101_0101) & ~comma) |
      ((cr - 0x0101_0101) & ~cr) |
      ((lf - 0x0101_0101) & ~lf)) &
      0x8080_8080) !==
    0
  );
}

function hasQuote(word: number): boolean {
  const quote = word ^ 0x2222_2222;
  return ((quote - 0x0101_0101) & ~quote & 0x8080_8080) !== 0;
}

function writeQuoted(sink: Sink, at: number, from: DataView, start: number, length: number): number {
  reserve(sink, at, length * 2 + 2);
  const out = sink.view;
  out.setUint8(at, QUOTE);
  let to = at + 1;
  const end = start + length;
  for (let index = start; index < end; ) {
    const word = end - index >= 4 ? from.getInt32(index, true) : ALL_QUOTES;
    if (!hasQuote(word)) {
      out.setInt32(to, word, true);
      to += 4;
      index += 4;
      continue;
    }
    for (const stop = Math.min(index + 4, end); index < stop; index++) {
      const byte = from.getUint8(index);
      out.setUint8(to, byte);
      to += 1;
      if (byte !== QUOTE) continue;
      out.setUint8(to, QUOTE);
      to += 1;
    }
  }
  out.setUint8(to, QUOTE);
  return to + 1;
}

/** Quotes the text from `from` to `to` if a field requires it. Returns the position after the field. */
export function quoteInPlace(sink: Sink, from: number, to: number): number {
  let quotes = 0;
  let special = false;
  for (let index = from; index < to; index++) {
    const byte = sink.view.getUint8(index);
    if (byte === QUOTE) quotes += 1;
    else if (isSpecial(byte)) special = true;
  }
  if (quotes === 0 && !special) return to;
  reserve(sink, to, quotes + 2);
  const { view } = sink;
  const end = to + quotes + 2;
  let target = end - 1;
  view.setUint8(target, QUOTE);
  // Backwards, because every byte moves to the right.
  for (let source = to - 1; source >= from; source--) {
    const byte = view.getUint8(source);
    target -= 1;
    view.setUint8(target, byte);
    if (byte !== QUOTE) continue;
    target -= 1;
    view.setUint8(target, QUOTE);
  }
  view.setUint8(from, QUOTE);
  return end;
}
