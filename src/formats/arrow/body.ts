import { viewOf } from "../../result/chunk.ts";

/** The body of a message while it is written. Each buffer starts at a multiple of 8 bytes. */
export interface Body {
  readonly bytes: Buffer;
  readonly view: DataView;
  /** The offset of the body, after unused bytes for the head of the message. */
  readonly start: number;
  /** The offset of the next buffer. */
  at: number;
  /** As in BatchLayout, like `buffers`. */
  readonly nodes: number[];
  readonly buffers: number[];
}

/** Bytes that a buffer may need beyond its contents: padding, and one more offset than rows. */
export const BUFFER_MARGIN = 16;
/** Unused bytes at the end. Strings are copied in words of 4 bytes, and the last word may extend beyond its string. */
const TAIL = 16;

/** Allocates memory for a head of `start` bytes and a body of `size` bytes. */
export function openBody(start: number, size: number): Body {
  const bytes = Buffer.allocUnsafeSlow(start + size + TAIL);
  return { bytes, view: viewOf(bytes), start, at: start, nodes: [], buffers: [] };
}

/** Ends the buffer that starts at `body.at`, and pads it to a multiple of 8 bytes. */
export function endBuffer(body: Body, length: number): void {
  const { at, bytes } = body;
  body.buffers.push(at - body.start, length);
  const end = at + length;
  body.at = (end + 7) & ~7;
  // The memory is not zeroed, and must not reveal its previous contents.
  bytes.fill(0, end, body.at);
}
