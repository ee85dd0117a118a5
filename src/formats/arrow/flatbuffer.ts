/**
 * The subset of flatbuffers that Arrow's metadata needs. Each table is written before its children, so that one pass is
 * sufficient.
 */

/** The fields of a table, in the order of its schema. Undefined means the default in the schema. */
export type Table = readonly (Value | undefined)[];

export type Value =
  | { readonly kind: "int"; readonly bytes: 1 | 2 | 4 | 8; readonly value: number }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "table"; readonly table: Table }
  | { readonly kind: "tables"; readonly tables: readonly Table[] }
  | { readonly kind: "ints"; readonly values: readonly number[] }
  /** Structs of two 64-bit numbers. */
  | { readonly kind: "pairs"; readonly values: readonly number[] };

export const bool = (value: boolean): Value => ({ kind: "int", bytes: 1, value: value ? 1 : 0 });
export const byte = (value: number): Value => ({ kind: "int", bytes: 1, value });
export const short = (value: number): Value => ({ kind: "int", bytes: 2, value });
export const int = (value: number): Value => ({ kind: "int", bytes: 4, value });
export const long = (value: number): Value => ({ kind: "int", bytes: 8, value });
export const text = (value: string): Value => ({ kind: "text", text: value });
export const table = (...fields: Table): Value => ({ kind: "table", table: fields });

/** A flatbuffer with this root table. Its length is a multiple of 8. */
export function flatbuffer(root: Table): Uint8Array {
  const out = new DataView(new ArrayBuffer(align(sizeOfTable(root) + 16, 8)));
  const writer = { out, end: 4 };
  out.setUint32(0, writeTable(writer, root), true);
  return new Uint8Array(out.buffer, 0, align(writer.end, 8));
}

interface Writer {
  readonly out: DataView;
  /** The end of the written bytes. All bytes after it are zero. */
  end: number;
}

function align(position: number, to: number): number {
  return Math.ceil(position / to) * to;
}

/** An upper bound: every piece may need up to 8 bytes of padding. */
function sizeOfTable(fields: Table): number {
  return fields.reduce((sum, field) => sum + 10 + (field === undefined ? 0 : outOfLineSize(field)), 4 + 4 + 8 + 8);
}

/** The size of the part of a value that is stored outside its table. */
function outOfLineSize(value: Value): number {
  switch (value.kind) {
    case "int":
      return 0;
    case "text":
      return Buffer.byteLength(value.text) + 13;
    case "table":
      return sizeOfTable(value.table);
    case "tables":
      return value.tables.reduce((sum, fields) => sum + 4 + sizeOfTable(fields), 12);
    case "ints":
      return value.values.length * 4 + 12;
    case "pairs":
      return value.values.length * 8 + 12;
  }
}

/** Writes the vtable (the offset of each field), the table and its children. Returns the position of the table. */
function writeTable(writer: Writer, fields: Table): number {
  const { out } = writer;
  const vtableSize = 4 + fields.length * 2;
  const position = align(writer.end + vtableSize, 8);
  const vtable = position - vtableSize;
  out.setInt32(position, vtableSize, true);
  const { offsets, size } = layoutOf(fields);
  out.setUint16(vtable, vtableSize, true);
  out.setUint16(vtable + 2, size, true);
  writer.end = position + size;
  fields.forEach((field, slot) => {
    const offset = offsets[slot] ?? 0;
    out.setUint16(vtable + 4 + slot * 2, offset, true);
    if (field !== undefined) writeField(writer, position + offset, field);
  });
  return position;
}

/** Puts wide fields first, which needs little padding. The table starts with the 4-byte offset of its vtable. */
function layoutOf(fields: Table): { readonly offsets: readonly number[]; readonly size: number } {
  const offsets = fields.map(() => 0);
  let size = 4;
  for (const width of [8, 4, 2, 1]) {
    fields.forEach((field, slot) => {
      if (field === undefined || widthOf(field) !== width) return;
      offsets[slot] = align(size, width);
      size = align(size, width) + width;
    });
  }
  return { offsets, size };
}

function widthOf(field: Value): number {
  return field.kind === "int" ? field.bytes : 4;
}

function writeField(writer: Writer, at: number, field: Value): void {
  const { out } = writer;
  if (field.kind === "int") writeInt(out, at, field);
  else out.setUint32(at, writeOutOfLine(writer, field) - at, true);
}

function writeInt(out: DataView, at: number, { bytes, value }: Extract<Value, { kind: "int" }>): void {
  switch (bytes) {
    case 1:
      out.setUint8(at, value);
      break;
    case 2:
      out.setInt16(at, value, true);
      break;
    case 4:
      out.setInt32(at, value, true);
      break;
    case 8:
      writeLong(out, at, value);
      break;
  }
}

/** Writes a non-negative integer up to 2^53 as a 64-bit integer. */
function writeLong(out: DataView, at: number, value: number): void {
  out.setUint32(at, value % 0x1_0000_0000, true);
  out.setUint32(at + 4, Math.floor(value / 0x1_0000_0000), true);
}

/** Writes a value after the end of the written bytes. Returns its position. */
function writeOutOfLine(writer: Writer, value: Exclude<Value, { kind: "int" }>): number {
  switch (value.kind) {
    case "text":
      return writeString(writer, value.text);
    case "table":
      return writeTable(writer, value.table);
    case "tables":
      return writeTables(writer, value.tables);
    case "ints":
      return writeVector(writer, value.values, { bytes: 4, perItem: 1 });
    case "pairs":
      return writeVector(writer, value.values, { bytes: 8, perItem: 2 });
  }
}

function writeString(writer: Writer, value: string): number {
  const position = align(writer.end, 4);
  const length = Buffer.from(writer.out.buffer).write(value, position + 4);
  writer.out.setUint32(position, length, true);
  // A NUL follows the string.
  writer.end = position + 4 + length + 1;
  return position;
}

function writeTables(writer: Writer, tables: readonly Table[]): number {
  const position = align(writer.end, 4);
  writer.out.setUint32(position, tables.length, true);
  writer.end = position + 4 + tables.length * 4;
  tables.forEach((fields, index) => {
    const at = position + 4 + index * 4;
    writer.out.setUint32(at, writeTable(writer, fields) - at, true);
  });
  return position;
}

/** The numbers are aligned to their size. The 4 bytes before them contain the number of items: a pair counts as one. */
function writeVector(
  writer: Writer,
  values: readonly number[],
  { bytes, perItem }: { readonly bytes: 4 | 8; readonly perItem: number },
): number {
  const first = align(writer.end + 4, bytes);
  writer.out.setUint32(first - 4, values.length / perItem, true);
  values.forEach((value, index) => {
    writeInt(writer.out, first + index * bytes, { kind: "int", bytes, value });
  });
  writer.end = first + values.length * bytes;
  return first - 4;
}
