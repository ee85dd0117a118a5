/**
 * The type of a result column, independent of the database. The comments name the layout of the vector (chunk.ts) and how it
 * stores each value. Numbers are little-endian.
 */
export type ColumnType =
  /** Layout `fixed`, every row NULL. */
  | { readonly kind: "null" }
  /** `fixed`, one byte, 0 or 1. */
  | { readonly kind: "boolean" }
  /** `fixed`, bits / 8 bytes. */
  | { readonly kind: "integer"; readonly bits: 8 | 16 | 32 | 64 | 128; readonly signed: boolean }
  /** `fixed`, bits / 8 bytes, IEEE 754. */
  | { readonly kind: "float"; readonly bits: 32 | 64 }
  /** `fixed`, the unscaled integer in bits / 8 bytes, signed. */
  | { readonly kind: "decimal"; readonly precision: number; readonly scale: number; readonly bits: 16 | 32 | 64 | 128 }
  /** `bytes`, the digits as text. If `fractional`, they may have a fraction, or be `NaN`, `Infinity` or `-Infinity`. */
  | { readonly kind: "bignum"; readonly fractional?: boolean }
  /** `bytes`, UTF-8. */
  | { readonly kind: "text" }
  /** `bytes`, JSON text. Also for values without a fixed type (VARIANT). */
  | { readonly kind: "json" }
  /** `bytes`, unchanged. */
  | { readonly kind: "blob" }
  /** `bytes`, a string of `0` and `1`. */
  | { readonly kind: "bit" }
  /** `bytes`, WKB. */
  | { readonly kind: "geometry" }
  /** `fixed`, 16 bytes in the order of the text form. */
  | { readonly kind: "uuid" }
  /** `fixed`, unsigned index into `values`. */
  | { readonly kind: "enum"; readonly bits: 8 | 16 | 32; readonly values: EnumValues }
  /** `fixed`, int32 days since 1970-01-01; 2147483647 is infinity, -2147483647 is -infinity. */
  | { readonly kind: "date" }
  /** `fixed`, int64 units since midnight. */
  | { readonly kind: "time"; readonly unit: "us" | "ns" }
  /** `fixed`, 16 bytes: int64 microseconds since midnight, int32 offset in seconds east of UTC, 4 zero bytes. */
  | { readonly kind: "timetz" }
  /** `fixed`, int64 units since 1970-01-01; 2^63-1 is infinity, -(2^63-1) is -infinity. */
  | { readonly kind: "timestamp"; readonly unit: "s" | "ms" | "us" | "ns"; readonly zoned: boolean }
  /** `fixed`, 16 bytes: int32 months, int32 days, int64 microseconds. */
  | { readonly kind: "interval" }
  /** `list`. */
  | { readonly kind: "list"; readonly item: ColumnType }
  /** `array`. Row r consists of the child rows r * size to r * size + size - 1. */
  | { readonly kind: "array"; readonly item: ColumnType; readonly size: number }
  /** `struct`. */
  | { readonly kind: "struct"; readonly fields: readonly Column[] }
  /** `list` whose child is a `struct` of key and value. */
  | { readonly kind: "map"; readonly key: ColumnType; readonly value: ColumnType }
  /** `union`. */
  | { readonly kind: "union"; readonly members: readonly Column[] };

/** The values of an enum: an array, or an object that loads them lazily. */
export interface EnumValues {
  readonly length: number;
  at(index: number): string | undefined;
}

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
}
