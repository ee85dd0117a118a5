import { inLayout, viewOf } from "../../result/chunk.ts";
import { bindAll, type Cell, widthOf } from "../values/cell.ts";
import { literal, paddedLength, writeLiteral } from "../values/literal.ts";
import { reserve, type Sink } from "../values/sink.ts";
import type { Writer } from "../values/writer.ts";
import { writeCell } from "./cell.ts";
import { writeString } from "./string.ts";

function put(sink: Sink, at: number, character: string): number {
  sink.view.setUint8(at, character.charCodeAt(0));
  return at + 1;
}

/** Writes the rows of the child of a list from `from` up to, but not including, `to`. */
function writeItems(sink: Sink, at: number, item: Cell, from: number, to: number): number {
  let end = put(sink, at, "[");
  for (let row = from; row < to; row++) {
    reserve(sink, end, 0);
    if (row > from) end = put(sink, end, ",");
    end = writeCell(sink, end, item, row);
  }
  return put(sink, end, "]");
}

export function listWriter(item: Cell, sink: Sink): Writer {
  let starts: Uint32Array = new Uint32Array(0);
  let lengths = starts;
  return {
    kind: "bound",
    width: item.width + 4,
    bind(vector) {
      const list = inLayout(vector, "list");
      starts = list.starts;
      lengths = list.lengths;
      item.bind(list.child);
    },
    write(row, at) {
      const start = starts[row] ?? 0;
      return writeItems(sink, at, item, start, start + (lengths[row] ?? 0));
    },
  };
}

export function arrayWriter(item: Cell, size: number, sink: Sink): Writer {
  return {
    kind: "bound",
    width: item.width + 4,
    bind(vector) {
      item.bind(inLayout(vector, "array").child);
    },
    write(row, at) {
      return writeItems(sink, at, item, row * size, (row + 1) * size);
    },
  };
}

export function structWriter(members: readonly { readonly name: string; readonly cell: Cell }[], sink: Sink): Writer {
  const fields = members.map(({ name, cell }, index) => ({
    name: literal(`${index === 0 ? "{" : ","}${JSON.stringify(name)}:`),
    cell,
  }));
  const cells = fields.map(({ cell }) => cell);
  return {
    kind: "bound",
    width: fields.reduce((sum, { name }) => sum + paddedLength(name), widthOf(cells) + 4),
    bind(vector) {
      bindAll(cells, inLayout(vector, "struct").children);
    },
    write(row, at) {
      let end = at;
      for (const { name, cell } of fields) end = writeCell(sink, writeLiteral(sink.view, end, name), cell, row);
      return put(sink, end, "}");
    },
  };
}

/** Keys are converted to strings. */
export function mapWriter(key: Cell, value: Cell, sink: Sink): Writer {
  let starts: Uint32Array = new Uint32Array(0);
  let lengths = starts;
  return {
    kind: "bound",
    width: key.width + value.width + 8,
    bind(vector) {
      const map = inLayout(vector, "list");
      starts = map.starts;
      lengths = map.lengths;
      bindAll([key, value], inLayout(map.child, "struct").children);
    },
    write(row, at) {
      const start = starts[row] ?? 0;
      const stop = start + (lengths[row] ?? 0);
      let end = put(sink, at, "{");
      for (let entry = start; entry < stop; entry++) {
        reserve(sink, end, 0);
        if (entry > start) end = put(sink, end, ",");
        end = put(sink, asString(sink, end, writeCell(sink, end, key, entry)), ":");
        end = writeCell(sink, end, value, entry);
      }
      return put(sink, end, "}");
    },
  };
}

/** Converts the value from `from` to `to` into a JSON string, unless it already is one. Returns the position after it. */
function asString(sink: Sink, from: number, to: number): number {
  if (sink.view.getUint8(from) === 0x22) return to;
  const text = Buffer.from(sink.bytes.subarray(from, to));
  return writeString(sink, from, viewOf(text), 0, text.length);
}
