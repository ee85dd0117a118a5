import { viewOf } from "../../result/chunk.ts";

/** The output of a writer. `view` and `bytes` are the same memory, and are replaced when it grows. */
export interface Sink {
  bytes: Buffer;
  view: DataView;
  /**
   * Bytes that are always free after the reserved ones: enough for one value of every column and every nested type.
   * Therefore, values of bounded width need no check. Lists reserve before each item, strings reserve their length.
   */
  slack: number;
}

export function createSink(): Sink {
  return { bytes: NOTHING, view: NOTHING_VIEW, slack: 0 };
}

/** Allocates new memory. Does not affect released bytes. */
export function renew(sink: Sink, size: number): void {
  sink.bytes = Buffer.allocUnsafeSlow(size + sink.slack);
  sink.view = viewOf(sink.bytes);
}

/** Returns the written bytes, which the sink no longer references. */
export function release(sink: Sink, end: number): Buffer {
  const written = sink.bytes.subarray(0, end);
  sink.bytes = NOTHING;
  sink.view = NOTHING_VIEW;
  return written;
}

/** Ensures that `size` bytes and the slack fit after `at`. */
export function reserve(sink: Sink, at: number, size: number): void {
  if (at + size + sink.slack > sink.bytes.length) grow(sink, at, size);
}

function grow(sink: Sink, at: number, size: number): void {
  const old = sink.bytes;
  renew(sink, Math.max(old.length * 2, at + size + sink.slack));
  old.copy(sink.bytes, 0, 0, at);
}

const NOTHING = Buffer.alloc(0);
const NOTHING_VIEW = viewOf(NOTHING);
