/** How much may be copied out of DuckDB at once. */
export interface VectorBounds {
  /** Bytes of strings in one vector. */
  readonly pieceBytes: number;
  /** Bytes of one value. */
  readonly valueBytes: number;
}

/** Thrown instead of copying a vector that exceeds its bounds. */
export class LongVector extends Error {
  readonly bytes: number;
  /** A single value exceeds the bounds: fewer rows would not help. */
  readonly isOneValue: boolean;
  readonly column: string;

  constructor(bytes: number, options: { readonly isOneValue: boolean; readonly column?: string }) {
    super(`a vector of ${bytes} bytes`);
    this.name = "LongVector";
    this.bytes = bytes;
    this.isOneValue = options.isOneValue;
    this.column = options.column ?? "";
  }
}
