import type { FileKind } from "../engines/engine.ts";
import type { Chunk } from "../result/chunk.ts";
import type { Column } from "../result/column.ts";

/** A way to write rows as bytes. */
export type Format = RowFormat | FileFormat;

interface FormatInfo {
  /** The value of `format` in a query string. */
  readonly name: string;
  /** Its names in `Accept`, without parameters, in lower case; the first is the official one. */
  readonly mediaTypes: readonly [string, ...string[]];
  /** The `Content-Type` of the response. */
  readonly contentType: string;
  /** Its internal compression: values of `codec` in `Accept`. */
  readonly codecs: readonly string[];
}

/** Encoded by Eider, chunk by chunk. */
export interface RowFormat extends FormatInfo {
  readonly kind: "rows";
  /** Whether HTTP compression makes it smaller. */
  readonly compressible: boolean;
  /** When a response has a Content-Length. `small`: when all of it is small. `buffered`: up to `limits.max-buffered-bytes`. */
  readonly bufferPolicy: "small" | "buffered";
  /** Loads what a codec needs. Await it before `open`. */
  prepare?(codec: string): Promise<void>;
  /** Begins the encoding of one result. `codec` is one of `codecs`. */
  open(columns: readonly Column[], frame: Frame, codec?: string): Encoder;
}

/** Written by the engine, as a file. */
export interface FileFormat extends FormatInfo {
  readonly kind: "file";
  readonly file: FileKind;
}

/** What surrounds the rows, in formats that support it (JSON does; CSV and Arrow leave it to the headers). */
export type Frame =
  /** Nothing: the rows are the response. */
  | { readonly kind: "rows" }
  /** One page of a read. */
  | { readonly kind: "page"; readonly next: string; readonly total: number }
  /** The rows that a write returned. */
  | { readonly kind: "write"; readonly rowsAffected: number };

/** Turns the chunks of one result, in order, into the bytes of one body. */
export interface Encoder {
  /**
   * The next bytes; the first chunk includes what precedes the rows. There may be none yet, when the format
   * collects more rows first. The caller owns them: they are never overwritten, so they may wait in a socket's queue.
   */
  encode(chunk: Chunk): Uint8Array;
  /** The last bytes. Not called when the query failed, so that an incomplete body is recognizable. */
  end(): Uint8Array;
}
