import type { Chunk, Vector } from "../../result/chunk.ts";
import type { Column } from "../../result/column.ts";
import { uniqueNames } from "../../result/column-names.ts";
import { bindAll, cellOf, widthOf, writeCell } from "./cell.ts";
import { literal, paddedLength, writeLiteral } from "./literal.ts";
import { createSink, release, renew, reserve } from "./sink.ts";
import { writerOf } from "./writer-of.ts";

export interface RowsEncoder {
  /** The rows as JSON objects, a comma before each, with `head` free bytes in front. The memory is the caller's. */
  encode(chunk: Chunk, head: number): Buffer;
}

const CLOSE = 0x7d;

export function openRows(columns: readonly Column[]): RowsEncoder {
  const sink = createSink();
  const cells = columns.map((column) => cellOf(writerOf(column.type, sink)));
  const names = uniqueNames(columns).map((name, index) =>
    literal(`${index === 0 ? ",{" : ","}${JSON.stringify(name)}:`),
  );
  const fields = cells.map((cell, index) => ({ name: names[index] ?? literal(""), cell }));
  sink.slack = widthOf(cells) + names.reduce((sum, name) => sum + paddedLength(name), 1);
  const namesLength = names.reduce((sum, name) => sum + name.length, 1);
  return {
    encode({ rows, vectors }, head) {
      renew(sink, head + vectors.reduce((sum, vector) => sum + sizeGuess(vector, rows), rows * namesLength));
      bindAll(cells, vectors);
      let at = head;
      for (let row = 0; row < rows; row++) {
        reserve(sink, at, 0);
        for (const { name, cell } of fields) at = writeCell(sink, writeLiteral(sink.view, at, name), cell, row);
        sink.view.setUint8(at, CLOSE);
        at += 1;
      }
      return release(sink, at);
    },
  };
}

/** About how many bytes of JSON a vector becomes. Too small a guess costs a copy. */
function sizeGuess(vector: Vector, rows: number): number {
  switch (vector.layout) {
    case "fixed":
      return rows * 18;
    case "bytes":
      return rows * 3 + Math.ceil(vector.bytes.length * 1.05);
    case "list":
      return rows * 3 + sizeGuess(vector.child, vector.childRows);
    case "array":
      return rows * 3 + sizeGuess(vector.child, rows);
    case "struct":
    case "union":
      return vector.children.reduce((sum, child) => sum + sizeGuess(child, rows), rows * 3);
  }
}
