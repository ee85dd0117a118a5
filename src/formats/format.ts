import type { Chunk } from "../result/chunk.ts";
import type { Column } from "../result/column.ts";

/** A way to write rows as bytes. Spec 4.5. */
export interface Format {
  /** The value of `format` in a query string. */
  readonly name: string;
  /** The `Content-Type` of the answer. */
  readonly mediaType: string;
  /** Begins the encoding of one result. */
  open(columns: readonly Column[], frame: Frame): Encoder;
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
   * The next bytes: what stands before the rows comes with the first chunk. They belong to the caller and are never
   * written to again, so they may wait in a socket's queue.
   */
  encode(chunk: Chunk): Uint8Array;
  /** The last bytes. Not called when the result broke off: a body without its end cannot be taken for a whole one. */
  end(): Uint8Array;
}
