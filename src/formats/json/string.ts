import { writeTwo } from "../../result/text/digits.ts";
import { reserve, type Sink } from "../values/sink.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const HEX = Buffer.from("0123456789abcdef");

/** The letter after the backslash, for characters with a short escape (RFC 8259, section 7). */
const SHORT_ESCAPES = new Uint8Array(256);
for (const [character, letter] of [
  ['"', '"'],
  ["\\", "\\"],
  ["\b", "b"],
  ["\f", "f"],
  ["\n", "n"],
  ["\r", "r"],
  ["\t", "t"],
] as const) {
  SHORT_ESCAPES[character.charCodeAt(0)] = letter.charCodeAt(0);
}

/** Writes `length` UTF-8 bytes from `start` as a JSON string. */
export function writeString(sink: Sink, at: number, from: DataView, start: number, length: number): number {
  reserve(sink, at, length + 2);
  const out = sink.view;
  out.setUint8(at, QUOTE);
  const first = at + 1;
  if (length < 4) {
    for (let index = 0; index < length; index++) {
      const byte = from.getUint8(start + index);
      if (byte < 0x20 || byte === QUOTE || byte === BACKSLASH) return writeEscaped(sink, first, from, start, length);
      out.setUint8(first + index, byte);
    }
  } else {
    const lastWord = length - 4;
    for (let index = 0; index < lastWord; index += 4) {
      const word = from.getInt32(start + index, true);
      if (needsEscape(word)) return writeEscaped(sink, first, from, start, length);
      out.setInt32(first + index, word, true);
    }
    // The last four bytes, some of which are already copied.
    const word = from.getInt32(start + lastWord, true);
    if (needsEscape(word)) return writeEscaped(sink, first, from, start, length);
    out.setInt32(first + lastWord, word, true);
  }
  out.setUint8(first + length, QUOTE);
  return first + length + 1;
}

/** Whether one of four bytes is a control character, a quote or a backslash. */
function needsEscape(word: number): boolean {
  const quote = word ^ 0x2222_2222;
  const backslash = word ^ 0x5c5c_5c5c;
  return (
    ((((word - 0x2020_2020) & ~word) | ((quote - 0x0101_0101) & ~quote) | ((backslash - 0x0101_0101) & ~backslash)) &
      0x8080_8080) !==
    0
  );
}

function writeEscaped(sink: Sink, at: number, from: DataView, start: number, length: number): number {
  reserve(sink, at, length * 6 + 1);
  const out = sink.view;
  let to = at;
  for (let index = start; index < start + length; index++) {
    const byte = from.getUint8(index);
    const letter = SHORT_ESCAPES[byte] ?? 0;
    if (letter !== 0) {
      out.setUint8(to, BACKSLASH);
      out.setUint8(to + 1, letter);
      to += 2;
    } else if (byte < 0x20) {
      out.setUint8(to, BACKSLASH);
      out.setUint8(to + 1, 0x75);
      writeTwo(out, to + 2, 0);
      out.setUint8(to + 4, HEX[byte >> 4] ?? 0);
      out.setUint8(to + 5, HEX[byte & 15] ?? 0);
      to += 6;
    } else {
      out.setUint8(to, byte);
      to += 1;
    }
  }
  out.setUint8(to, QUOTE);
  return to + 1;
}
