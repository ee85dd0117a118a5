import duckdb from "@duckdb/node-bindings";
import { type Chunk, inLayout, isValid, type Validity, type Vector, viewOf } from "../../../result/chunk.ts";
import type { ColumnType } from "../../../result/column.ts";
import type { Rows } from "../../rows.ts";
import { packTimeWithZone, storeUuid } from "../load/load-converted.ts";

/** Appends rows to a temporary table, chunk by chunk. The rows are closed. */
export async function appendRows(connection: duckdb.Connection, table: string, rows: Rows): Promise<void> {
  const appender = duckdb.appender_create_ext(connection, "temp", "main", table);
  const types = rows.columns.map((_, index) => duckdb.appender_column_type(appender, index));
  try {
    for (let chunk = await rows.next(); chunk !== undefined; chunk = await rows.next()) {
      if (chunk.rows > duckdb.vector_size()) throw new Error("a chunk has more rows than DuckDB's");
      duckdb.append_data_chunk(appender, nativeChunk(chunk, rows, types));
    }
    duckdb.appender_close_sync(appender);
  } finally {
    await rows.close();
  }
}

function nativeChunk(chunk: Chunk, { columns }: Rows, types: readonly duckdb.LogicalType[]): duckdb.DataChunk {
  const native = duckdb.create_data_chunk(types);
  duckdb.data_chunk_set_size(native, chunk.rows);
  for (const [index, { type }] of columns.entries()) {
    const vector = chunk.vectors[index];
    if (vector !== undefined) fill(duckdb.data_chunk_get_vector(native, index), type, { vector, rows: chunk.rows });
  }
  return native;
}

interface Filling {
  readonly vector: Vector;
  readonly rows: number;
}

function fill(native: duckdb.Vector, type: ColumnType, { vector, rows }: Filling): void {
  setValidity(native, type.kind === "null" ? new Uint8Array(Math.ceil(rows / 64) * 8) : vector.validity, rows);
  switch (type.kind) {
    case "null":
      return;
    case "uuid":
      copy(native, storedUuids(inLayout(vector, "fixed").data));
      return;
    case "timetz":
      copy(native, packedTimes(inLayout(vector, "fixed").data, rows));
      return;
    case "enum": {
      const { data, validity } = inLayout(vector, "fixed");
      const view = viewOf(data);
      for (let row = 0; row < rows; row++) {
        if (!isValid(validity, row)) continue;
        const index =
          type.bits === 8
            ? view.getUint8(row)
            : type.bits === 16
              ? view.getUint16(row * 2, true)
              : view.getUint32(row * 4, true);
        duckdb.vector_assign_string_element(native, row, type.values.at(index) ?? "");
      }
      return;
    }
    case "list": {
      const { starts, lengths, child, childRows } = inLayout(vector, "list");
      const entries = new BigUint64Array(rows * 2);
      for (let row = 0; row < rows; row++) {
        entries[row * 2] = BigInt(starts[row] ?? 0);
        entries[row * 2 + 1] = BigInt(lengths[row] ?? 0);
      }
      copy(native, new Uint8Array(entries.buffer));
      duckdb.list_vector_reserve(native, childRows);
      duckdb.list_vector_set_size(native, childRows);
      if (childRows > 0) fill(duckdb.list_vector_get_child(native), type.item, { vector: child, rows: childRows });
      return;
    }
    default:
      if (vector.layout === "fixed") copy(native, vector.data);
      else fillStrings(native, vector, rows);
  }
}

function fillStrings(native: duckdb.Vector, vector: Vector, rows: number): void {
  const { validity, starts, lengths, bytes } = inLayout(vector, "bytes");
  for (let row = 0; row < rows; row++) {
    if (!isValid(validity, row)) continue;
    const start = starts[row] ?? 0;
    duckdb.vector_assign_string_element_len(native, row, bytes.subarray(start, start + (lengths[row] ?? 0)));
  }
}

function setValidity(native: duckdb.Vector, validity: Validity, rows: number): void {
  if (validity === undefined) return;
  const whole = new Uint8Array(Math.ceil(rows / 64) * 8);
  whole.set(validity.subarray(0, whole.length));
  duckdb.vector_ensure_validity_writable(native);
  duckdb.copy_data_to_vector_validity(native, 0, whole.buffer, 0, whole.length);
}

function copy(native: duckdb.Vector, data: Uint8Array): void {
  // The bindings need the buffer below the bytes, which is never shared.
  duckdb.copy_data_to_vector(native, 0, data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
}

function storedUuids(data: Uint8Array): Uint8Array {
  const stored = data.slice();
  for (let at = 0; at < stored.length; at += 16) storeUuid(stored, at);
  return stored;
}

function packedTimes(data: Uint8Array, rows: number): Uint8Array {
  const from = viewOf(data);
  const packed = new BigUint64Array(rows);
  for (let row = 0; row < rows; row++) {
    packed[row] = packTimeWithZone(from.getBigInt64(row * 16, true), from.getInt32(row * 16 + 8, true));
  }
  return new Uint8Array(packed.buffer);
}
