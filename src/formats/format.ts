import type { FileKind } from "../engines/embedded-engine.ts";
import type { Chunk } from "../result/chunk.ts";
import type { Column } from "../result/column.ts";

/** A response format. */
export type Format = RowFormat | FileFormat;

interface FormatInfo {
  /** The value of `format` in a query string. */
  readonly name: string;
  /** The names of the format in `Accept`, without parameters, in lower case. The first is the official one. */
  readonly mediaTypes: readonly [string, ...string[]];
  /** The `Content-Type` of the response. */
  readonly contentType: string;
  /** The values of `codec` in `Accept`, for compression inside the format. */
  readonly codecs: readonly string[];
}

/** Encoded by Eider, chunk by chunk. */
export interface RowFormat extends FormatInfo {
  readonly kind: "rows";
  /** Whether HTTP compression makes the body smaller. */
  readonly compressible: boolean;
  /** Which responses get a `Content-Length`: only small ones, or all up to `limits.max-buffered-bytes`. */
  readonly bufferPolicy: "small" | "buffered";
  /** Loads a codec. Must be awaited before `open`. */
  prepare?(codec: string): Promise<void>;
  /** Starts encoding one result. `codec` is one of `codecs`. */
  open(columns: readonly Column[], frame: Frame, codec?: string): Encoder;
}

/** Written by the engine, as a file. */
export interface FileFormat extends FormatInfo {
  readonly kind: "file";
  readonly file: FileKind;
}

/** The data around the rows. Only JSON includes it in the body. For other formats, it is in the headers. */
export type Frame =
  /** Only the rows. */
  | { readonly kind: "rows" }
  /** A single row. */
  | { readonly kind: "one" }
  /** One page of a read. */
  | { readonly kind: "page"; readonly next: string; readonly total: number }
  /** The rows that a write returned. */
  | { readonly kind: "write"; readonly rowsAffected: number; readonly returns: "one" | "many" };

/** Encodes the chunks of one result, in order. */
export interface Encoder {
  /**
   * Returns the next bytes, or none if the format collects more rows first. The caller owns them: they are never overwritten,
   * so they can wait in the queue of a socket.
   */
  encode(chunk: Chunk): Uint8Array;
  /** The last bytes. Not called if the query failed, so that clients can detect an incomplete body. */
  end(): Uint8Array;
}
