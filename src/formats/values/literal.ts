/** A string that is written often, such as a name or an enum value. It is written eight bytes at a time. */
export interface Literal {
  readonly length: number;
  /**
   * The bytes as doubles, padded with zeros. Loading and storing a double preserves its bits, unless it is NaN. Valid UTF-8 is
   * never NaN, because a NaN has a byte F0 or higher before a byte 7F or FF.
   */
  readonly words: Float64Array;
}

/** Most literals are short, so they can share a buffer. */
const SCRATCH = Buffer.alloc(256);

export function literal(text: string): Literal {
  const buffer = text.length * 3 <= SCRATCH.length ? SCRATCH : Buffer.alloc(Math.ceil((text.length * 3) / 8) * 8);
  const length = buffer.write(text);
  const words = new Float64Array(Math.ceil(length / 8));
  buffer.fill(0, length, words.length * 8);
  for (let word = 0; word < words.length; word++) words[word] = buffer.readDoubleLE(word * 8);
  return { length, words };
}

/** The number of bytes that `writeLiteral` writes, including padding. */
export function paddedLength({ words }: Literal): number {
  return words.length * 8;
}

export function writeLiteral(out: DataView, at: number, { length, words }: Literal): number {
  for (let word = 0; word < words.length; word++) out.setFloat64(at + word * 8, words[word] ?? 0, true);
  return at + length;
}
