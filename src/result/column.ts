/**
 * The type of a result column, independent of the database. Each kind documents how its vector (chunk.ts) holds
 * the values; numbers are little-endian.
 */
export type ColumnType =
  /** layout `fixed`, every row invalid. */
  | { readonly kind: "null" }
  /** `fixed`, one byte, 0 or 1. */
  | { readonly kind: "boolean" }
  /** `fixed`, bits / 8 bytes. */
  | { readonly kind: "integer"; readonly bits: 8 | 16 | 32 | 64 | 128; readonly signed: boolean }
  /** `fixed`, bits / 8 bytes, IEEE 754. */
  | { readonly kind: "float"; readonly bits: 32 | 64 }
  /** `fixed`, the unscaled integer in bits / 8 bytes, signed. */
  | { readonly kind: "decimal"; readonly precision: number; readonly scale: number; readonly bits: 16 | 32 | 64 | 128 }
  /** `bytes`, its digits as text. */
  | { readonly kind: "bignum" }
  /** `bytes`, UTF-8. */
  | { readonly kind: "text" }
  /** `bytes`, JSON text. Also for values without a fixed type (VARIANT). */
  | { readonly kind: "json" }
  | { readonly kind: "blob" }
  /** `bytes`, "0" and "1" as text. */
  | { readonly kind: "bit" }
  /** `bytes`, WKB. */
  | { readonly kind: "geometry" }
  /** `fixed`, 16 bytes in the order in which the text shows them. */
  | { readonly kind: "uuid" }
  /** `fixed`, unsigned index into `values`. */
  | { readonly kind: "enum"; readonly bits: 8 | 16 | 32; readonly values: EnumValues }
  /** `fixed`, int32 days since 1970-01-01; 2147483647 and -2147483647 are the infinities. */
  | { readonly kind: "date" }
  /** `fixed`, int64 units since midnight. */
  | { readonly kind: "time"; readonly unit: "us" | "ns" }
  /** `fixed`, 16 bytes: int64 microseconds since midnight, int32 offset in seconds east of UTC, 4 bytes zero. */
  | { readonly kind: "timetz" }
  /** `fixed`, int64 units since 1970-01-01; 2^63-1 and -(2^63-1) are the infinities. */
  | { readonly kind: "timestamp"; readonly unit: "s" | "ms" | "us" | "ns"; readonly zoned: boolean }
  /** `fixed`, 16 bytes: int32 months, int32 days, int64 microseconds. */
  | { readonly kind: "interval" }
  /** `list`. */
  | { readonly kind: "list"; readonly item: ColumnType }
  /** `array`: row r owns the child rows r * size to r * size + size - 1. */
  | { readonly kind: "array"; readonly item: ColumnType; readonly size: number }
  /** `struct`. */
  | { readonly kind: "struct"; readonly fields: readonly Column[] }
  /** `list` whose child is a `struct` of key and value. */
  | { readonly kind: "map"; readonly key: ColumnType; readonly value: ColumnType }
  /** `union`. */
  | { readonly kind: "union"; readonly members: readonly Column[] };

/** The values of an enum. An array is one; an engine may load them lazily. */
export interface EnumValues {
  readonly length: number;
  at(index: number): string | undefined;
}

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
}
