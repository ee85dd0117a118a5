/** Constant bytes that are written again and again (names, enum values), eight at a time. */
export interface Literal {
  readonly length: number;
  /**
   * The bytes as doubles, zeros at the end. A double survives loading and storing bit by bit unless it is a NaN, and
   * valid UTF-8 is never one: that would take a byte of F0 or more before one of 7F or FF.
   */
  readonly words: Float64Array;
}

/** Most literals are short: they need no buffer of their own. */
const SCRATCH = Buffer.alloc(256);

export function literal(text: string): Literal {
  const buffer = text.length * 3 <= SCRATCH.length ? SCRATCH : Buffer.alloc(Math.ceil((text.length * 3) / 8) * 8);
  const length = buffer.write(text);
  const words = new Float64Array(Math.ceil(length / 8));
  buffer.fill(0, length, words.length * 8);
  for (let word = 0; word < words.length; word++) words[word] = buffer.readDoubleLE(word * 8);
  return { length, words };
}

/** The bytes that `writeLiteral` may write: a few more than the literal has. */
export function paddedLength({ words }: Literal): number {
  return words.length * 8;
}

export function writeLiteral(out: DataView, at: number, { length, words }: Literal): number {
  for (let word = 0; word < words.length; word++) out.setFloat64(at + word * 8, words[word] ?? 0, true);
  return at + length;
}
