import { viewOf } from "../../result/chunk.ts";

/** The body of a message while it is written: one buffer after the other, each at a multiple of 8 bytes. */
export interface Body {
  readonly bytes: Buffer;
  readonly view: DataView;
  /** Where the body begins, after free bytes for the head of the message. */
  readonly start: number;
  /** Where the next buffer begins. */
  at: number;
  /** As in BatchLayout. */
  readonly nodes: number[];
  readonly buffers: number[];
}

/** A buffer takes up to this much beyond its contents: padding, and the one offset more than there are rows. */
export const BUFFER_MARGIN = 16;
/** Strings are copied in words, and the last word may reach beyond its string. */
const TAIL = 16;

/** Allocates memory for a head of `start` bytes and `size` bytes behind it. */
export function openBody(start: number, size: number): Body {
  const bytes = Buffer.allocUnsafeSlow(start + size + TAIL);
  return { bytes, view: viewOf(bytes), start, at: start, nodes: [], buffers: [] };
}

/** Ends the buffer that has been written from `at` on. */
export function endBuffer(body: Body, length: number): void {
  const { at, bytes } = body;
  body.buffers.push(at - body.start, length);
  const end = at + length;
  body.at = (end + 7) & ~7;
  // The memory is not zeroed, and must not reveal what it held before.
  bytes.fill(0, end, body.at);
}
