import duckdb from "@duckdb/node-bindings";
import { type Chunk, isValid, type Validity, type Vector, type VectorOf, viewOf } from "../../../result/chunk.ts";
import type { Column, ColumnType } from "../../../result/column.ts";
import { loadBignums, loadBits, loadTimesWithZone, loadUuids } from "./load-converted.ts";
import { loadStrings } from "./load-strings.ts";
import { variantFields, variantText } from "./load-variant.ts";
import { LongVector, type VectorBounds } from "./long-vector.ts";
import { zeros } from "./zeros.ts";

export interface ChunkBounds extends VectorBounds {
  /** The rows whose values are copied; the other rows are empty. All rows if omitted. */
  readonly range?: { readonly from: number; readonly to: number };
}

const UNBOUNDED = { pieceBytes: Number.POSITIVE_INFINITY, valueBytes: Number.POSITIVE_INFINITY };

/**
 * Copies one native chunk into vectors that do not depend on DuckDB. `columns` are those of the same result. Throws a LongVector
 * before it copies too much.
 */
export function loadChunk(chunk: duckdb.DataChunk, columns: readonly Column[], bounds: ChunkBounds = UNBOUNDED): Chunk {
  const rows = duckdb.data_chunk_get_size(chunk);
  const { range } = bounds;
  const reachable = range === undefined ? undefined : bitsOfRange(rows, range);
  const extent: Extent = { rows, reachable, bounds };
  return {
    rows,
    vectors: columns.map((column, index) => loadColumn(duckdb.data_chunk_get_vector(chunk, index), column, extent)),
  };
}

function loadColumn(vector: duckdb.Vector, { name, type }: Column, extent: Extent): Vector {
  try {
    return loadVector(vector, type, extent);
  } catch (error) {
    if (!(error instanceof LongVector)) throw error;
    throw new LongVector(error.bytes, { isOneValue: error.isOneValue, column: name });
  }
}

function bitsOfRange(rows: number, { from, to }: { readonly from: number; readonly to: number }): Validity {
  const bits = new Uint8Array(Math.ceil(rows / 64) * 8);
  setRange(bits, from, to - from);
  return bits;
}

/**
 * The rows of a vector. Those inside an invalid struct, or that no list points at, may hold garbage that is marked
 * valid: only `reachable` ones are read.
 */
interface Extent {
  readonly rows: number;
  readonly reachable: Validity;
  readonly bounds: VectorBounds;
}

function loadVector(vector: duckdb.Vector, type: ColumnType, extent: Extent): Vector {
  const { rows, bounds } = extent;
  // The children of an empty native vector may not exist.
  if (rows === 0) return emptyVector(type);
  const validity = intersect(validityOf(vector, rows), extent.reachable);
  switch (type.kind) {
    case "null":
      return { layout: "fixed", validity: new Uint8Array((rows + 7) >> 3), data: new Uint8Array(rows) };
    case "boolean":
      return fixedVector(vector, rows, validity);
    case "integer":
    case "float":
    case "decimal":
    case "enum":
      return fixedVector(vector, rows * (type.bits >> 3), validity);
    case "date":
      return fixedVector(vector, rows * 4, validity);
    case "time":
    case "timestamp":
      return fixedVector(vector, rows * 8, validity);
    case "interval":
      return fixedVector(vector, rows * 16, validity);
    case "uuid":
      return { layout: "fixed", validity, data: loadUuids(vector, rows) };
    case "timetz":
      return { layout: "fixed", validity, data: loadTimesWithZone(vector, rows) };
    case "text":
    case "blob":
    case "geometry":
      return loadStrings(vector, { rows, validity, bounds });
    case "bit":
      // A byte becomes eight characters.
      return loadBits(
        loadStrings(vector, { rows, validity, bounds: { ...bounds, pieceBytes: bounds.pieceBytes / 8 } }),
      );
    case "bignum":
      return loadBignums(loadStrings(vector, { rows, validity, bounds }));
    case "json":
      return isVariant(vector)
        ? variantText(loadStruct(vector, variantFields, { rows, reachable: validity, bounds }), rows)
        : loadStrings(vector, { rows, validity, bounds });
    case "list":
    case "map":
      return loadList(vector, itemOf(type), { rows, reachable: validity, bounds });
    case "array":
      return {
        layout: "array",
        validity,
        child: loadVector(duckdb.array_vector_get_child(vector), type.item, {
          rows: rows * type.size,
          reachable: repeatBits(validity, rows, type.size),
          bounds,
        }),
      };
    case "struct":
      return loadStruct(vector, type.fields, { rows, reachable: validity, bounds });
    case "union":
      return loadUnion(vector, type.members, { rows, reachable: validity, bounds });
  }
}

function fixedVector(vector: duckdb.Vector, bytes: number, validity: Validity): Vector {
  return { layout: "fixed", validity, data: duckdb.vector_get_data(vector, bytes) };
}

function loadStruct(vector: duckdb.Vector, fields: readonly Column[], extent: Extent): VectorOf<"struct"> {
  return {
    layout: "struct",
    validity: extent.reachable,
    children: fields.map((field, index) =>
      loadVector(duckdb.struct_vector_get_child(vector, index), field.type, extent),
    ),
  };
}

/** A union is a struct: first the tag, then every member, of which only the tagged one holds a value. */
function loadUnion(vector: duckdb.Vector, members: readonly Column[], extent: Extent): Vector {
  const { rows, bounds } = extent;
  const tagVector = duckdb.struct_vector_get_child(vector, 0);
  const tags = duckdb.vector_get_data(tagVector, rows);
  // A NULL union has a NULL tag; the struct around it may count as valid.
  const validity = intersect(extent.reachable, validityOf(tagVector, rows));
  return {
    layout: "union",
    validity,
    tags,
    children: members.map((member, index) =>
      loadVector(duckdb.struct_vector_get_child(vector, index + 1), member.type, {
        rows,
        reachable: bitsOfMember(tags, index, validity),
        bounds,
      }),
    ),
  };
}

/** The assumed size of a list item. Strings are counted separately. */
const ITEM_BYTES = 8;

function loadList(vector: duckdb.Vector, item: ColumnType, { rows, reachable, bounds }: Extent): Vector {
  const data = duckdb.vector_get_data(vector, rows * 16);
  const view = viewOf(data);
  const childRows = duckdb.list_vector_get_size(vector);
  const starts = zeros(rows);
  const lengths = zeros(rows);
  let used = 0;
  for (let row = 0; row < rows; row++) {
    if (!isValid(reachable, row)) continue;
    const start = view.getUint32(row * 16, true);
    const length = view.getUint32(row * 16 + 8, true);
    if (start + length > childRows) throw new Error(`List entry ${start}+${length} is beyond its ${childRows} items`);
    if (length * ITEM_BYTES > bounds.valueBytes) throw new LongVector(length * ITEM_BYTES, { isOneValue: true });
    starts[row] = start;
    lengths[row] = length;
    used += length;
  }
  const child = loadVector(duckdb.list_vector_get_child(vector), item, {
    rows: childRows,
    reachable: used === childRows ? undefined : bitsOfItems(starts, lengths, childRows),
    bounds,
  });
  return { layout: "list", validity: reachable, starts, lengths, child, childRows };
}

/** A map is a list of entries. */
function itemOf(type: Extract<ColumnType, { kind: "list" | "map" }>): ColumnType {
  if (type.kind === "list") return type.item;
  const { key, value } = type;
  return {
    kind: "struct",
    fields: [
      { name: "key", type: key },
      { name: "value", type: value },
    ],
  };
}

/** A JSON column is stored as VARCHAR, a VARIANT as a struct. */
function isVariant(vector: duckdb.Vector): boolean {
  return duckdb.get_type_id(duckdb.vector_get_column_type(vector)) === duckdb.Type.VARIANT;
}

function validityOf(vector: duckdb.Vector, rows: number): Validity {
  // The bindings declare Uint8Array but return null when every row is valid. A byte count that is too large crashes the process.
  const validity: Uint8Array | null = duckdb.vector_get_validity(vector, Math.ceil(rows / 64) * 8);
  return validity ?? undefined;
}

function intersect(one: Validity, other: Validity): Validity {
  if (one === undefined) return other;
  if (other === undefined) return one;
  return one.map((byte, index) => byte & (other[index] ?? 0));
}

function repeatBits(validity: Validity, rows: number, times: number): Validity {
  if (validity === undefined) return undefined;
  const bits = new Uint8Array(Math.ceil((rows * times) / 64) * 8);
  for (let row = 0; row < rows; row++) if (isValid(validity, row)) setRange(bits, row * times, times);
  return bits;
}

function bitsOfItems(starts: Uint32Array, lengths: Uint32Array, childRows: number): Validity {
  const bits = new Uint8Array(Math.ceil(childRows / 64) * 8);
  starts.forEach((start, row) => {
    setRange(bits, start, lengths[row] ?? 0);
  });
  return bits;
}

function bitsOfMember(tags: Uint8Array, member: number, validity: Validity): Validity {
  const bits = new Uint8Array(Math.ceil(tags.length / 64) * 8);
  tags.forEach((tag, row) => {
    if (tag === member && isValid(validity, row)) setRange(bits, row, 1);
  });
  return bits;
}

function setRange(bits: Uint8Array, from: number, length: number): void {
  for (let bit = from; bit < from + length; bit++) bits[bit >> 3] = (bits[bit >> 3] ?? 0) | (1 << (bit & 7));
}

function emptyVector(type: ColumnType): Vector {
  const validity = undefined;
  const data = new Uint8Array(0);
  const starts = new Uint32Array(0);
  switch (type.kind) {
    case "text":
    case "json":
    case "blob":
    case "bit":
    case "bignum":
    case "geometry":
      return { layout: "bytes", validity, starts, lengths: starts, bytes: data };
    case "list":
    case "map":
      return { layout: "list", validity, starts, lengths: starts, child: emptyVector(itemOf(type)), childRows: 0 };
    case "array":
      return { layout: "array", validity, child: emptyVector(type.item) };
    case "struct":
      return { layout: "struct", validity, children: type.fields.map((field) => emptyVector(field.type)) };
    case "union":
      return { layout: "union", validity, tags: data, children: type.members.map((each) => emptyVector(each.type)) };
    case "null":
    case "boolean":
    case "integer":
    case "float":
    case "decimal":
    case "enum":
    case "date":
    case "time":
    case "timetz":
    case "timestamp":
    case "interval":
    case "uuid":
      return { layout: "fixed", validity, data };
  }
}
