import { isUtf8 } from "node:buffer";
import { MAX_UNSLICED, type Sliced } from "../slices.ts";

/** Bytes to decode before yielding to other requests. Many, because decoding is fast. */
const STEP = 8 * MAX_UNSLICED;

/** Undefined if the bytes are not UTF-8. */
export function* decodeUtf8(bytes: Buffer): Sliced<string | undefined> {
  if (!isUtf8(bytes)) return undefined;
  let text = "";
  for (let from = 0; from < bytes.length; ) {
    const to = characterStart(bytes, from + STEP);
    text += bytes.toString("utf8", from, to);
    from = to;
    if (from < bytes.length) yield;
  }
  return text;
}

/** The first index from `at` on where a character starts, or the end. */
function characterStart(bytes: Buffer, at: number): number {
  let start = Math.min(at, bytes.length);
  while (start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  return start;
}
