import type { ColumnType } from "../../result/column.ts";
import { writeText } from "../../result/text/digits.ts";
import { bindAll, type Cell, cellOf, widthOf } from "../values/cell.ts";
import { floatText } from "../values/float-text.ts";
import { literal, paddedLength, writeLiteral } from "../values/literal.ts";
import { reserve, type Sink, viewOf } from "../values/sink.ts";
import { inLayout, type Writer } from "../values/writer.ts";
import { writeCell, writeNull } from "./cell.ts";
import { writeString } from "./string.ts";
import { writerOf } from "./writer-of.ts";

type Of<Kind extends ColumnType["kind"]> = Extract<ColumnType, { kind: Kind }>;

export type NestedType = Of<"list" | "array" | "struct" | "map" | "union">;

export function nestedWriter(type: NestedType, sink: Sink): Writer {
  switch (type.kind) {
    case "list":
      return listWriter(type, sink);
    case "array":
      return arrayWriter(type, sink);
    case "struct":
      return structWriter(type, sink);
    case "map":
      return mapWriter(type, sink);
    case "union":
      return unionWriter(type, sink);
  }
}

function openCell(type: ColumnType, sink: Sink): Cell {
  return cellOf(writerOf(type, sink));
}

function put(sink: Sink, at: number, character: string): number {
  sink.view.setUint8(at, character.charCodeAt(0));
  return at + 1;
}

/** The items of rows `from` to `to` of a list's child. */
function writeItems(sink: Sink, at: number, item: Cell, from: number, to: number): number {
  let end = put(sink, at, "[");
  for (let row = from; row < to; row++) {
    reserve(sink, end, 0);
    if (row > from) end = put(sink, end, ",");
    end = writeCell(sink, end, item, row);
  }
  return put(sink, end, "]");
}

function listWriter(type: Of<"list">, sink: Sink): Writer {
  const item = openCell(type.item, sink);
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

function arrayWriter(type: Of<"array">, sink: Sink): Writer {
  const item = openCell(type.item, sink);
  return {
    kind: "bound",
    width: item.width + 4,
    bind(vector) {
      item.bind(inLayout(vector, "array").child);
    },
    write(row, at) {
      return writeItems(sink, at, item, row * type.size, (row + 1) * type.size);
    },
  };
}

function structWriter(type: Of<"struct">, sink: Sink): Writer {
  const names = type.fields.map((field, index) => literal(`${index === 0 ? "{" : ","}${JSON.stringify(field.name)}:`));
  const cells = type.fields.map((field) => openCell(field.type, sink));
  const fields = cells.map((cell, index) => ({ name: names[index] ?? literal("{"), cell }));
  return {
    kind: "bound",
    width: widthOf(cells) + names.reduce((sum, name) => sum + paddedLength(name), 4),
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

/** Keys of any type become the text that the value would have. */
function mapWriter(type: Of<"map">, sink: Sink): Writer {
  const key = cellOf(keyWriterOf(type.key, sink));
  const value = openCell(type.value, sink);
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

/** NaN and the infinities are null as values; as keys they must stay apart. */
const floatKeys = floatText((out, at, value) => writeText(out, at, `"${value}"`));

function keyWriterOf(type: ColumnType, sink: Sink): Writer {
  return type.kind === "float" ? floatKeys[type.bits] : writerOf(type, sink);
}

/** Makes a JSON string of the value that stands from `from` to `to`, unless it is one. */
function asString(sink: Sink, from: number, to: number): number {
  if (sink.view.getUint8(from) === 0x22) return to;
  const text = Buffer.from(sink.bytes.subarray(from, to));
  return writeString(sink, from, viewOf(text), 0, text.length);
}

/** The value alone: which member it is does not show. */
function unionWriter(type: Of<"union">, sink: Sink): Writer {
  const members = type.members.map((member) => openCell(member.type, sink));
  let tags: Uint8Array = new Uint8Array(0);
  return {
    kind: "bound",
    width: members.reduce((widest, member) => Math.max(widest, member.width), 4),
    bind(vector) {
      const union = inLayout(vector, "union");
      tags = union.tags;
      bindAll(members, union.children);
    },
    write(row, at) {
      const member = members[tags[row] ?? 0];
      return member === undefined ? writeNull(sink.view, at) : writeCell(sink, at, member, row);
    },
  };
}
