import type { FileKind } from "../engines/engine.ts";
import type { Chunk } from "../result/chunk.ts";
import type { Column } from "../result/column.ts";

/** A way to write rows as bytes. Spec 4.5. */
export type Format = RowFormat | FileFormat;

interface FormatInfo {
  /** The value of `format` in a query string. */
  readonly name: string;
  /** What `Accept` calls it, without parameters, in lower case; the first is its own name, the others are known too. */
  readonly mediaTypes: readonly [string, ...string[]];
  /** The `Content-Type` of the answer. */
  readonly contentType: string;
  /** How its bytes may be packed inside: values of `codec` in `Accept`. */
  readonly codecs: readonly string[];
}

/** Made by us, chunk by chunk. */
export interface RowFormat extends FormatInfo {
  readonly kind: "rows";
  /** Whether HTTP compression is of use. */
  readonly compressible: boolean;
  /** `small`: the length is told when the whole answer is small. `buffered`: up to `limits.max-buffered-bytes`. */
  readonly bufferPolicy: "small" | "buffered";
  /** To be awaited before `open` is called with a codec: loads what it needs. */
  prepare?(codec: string): Promise<void>;
  /** Begins the encoding of one result. `codec` is one of `codecs`. */
  open(columns: readonly Column[], frame: Frame, codec?: string): Encoder;
}

/** Made by the engine, as a file. */
export interface FileFormat extends FormatInfo {
  readonly kind: "file";
  readonly file: FileKind;
}

/** What stands around the rows where the format has a place for it (JSON does; CSV and Arrow leave it to the headers). */
export type Frame =
  /** Nothing: the rows are the answer. */
  | { readonly kind: "rows" }
  /** One page of a read. Spec 4.3. */
  | { readonly kind: "page"; readonly next: string; readonly total: number }
  /** The rows that a write returned. Spec 4.4. */
  | { readonly kind: "write"; readonly rowsAffected: number };

/** Turns the chunks of one result, in order, into the bytes of one body. */
export interface Encoder {
  /**
   * The next bytes: what stands before the rows comes with the first chunk. There may be none yet, when the format
   * gathers more rows first. They belong to the caller and are never written to again, so they may wait in a socket's queue.
   */
  encode(chunk: Chunk): Uint8Array;
  /** The last bytes. Not called when the result broke off: a body without its end cannot be taken for a whole one. */
  end(): Uint8Array;
}
