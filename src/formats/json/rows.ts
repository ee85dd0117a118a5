import type { Chunk, Vector } from "../../result/chunk.ts";
import type { Column } from "../../result/column.ts";
import { uniqueNames } from "../../result/column-names.ts";
import { bindAll, cellOf, widthOf, writeCell } from "./cell.ts";
import { type Literal, literal, paddedLength, writeLiteral } from "./literal.ts";
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
  const names = namesOf(columns);
  const fields = cells.map((cell, index) => ({ name: names.literals[index] ?? literal(""), cell }));
  sink.slack = widthOf(cells) + names.paddedLength + 1;
  return {
    encode({ rows, vectors }, head) {
      renew(sink, head + vectors.reduce((sum, vector) => sum + sizeGuess(vector, rows), rows * names.length));
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

interface Names {
  /** `,{"a":` for the first column, `,"b":` for the others. */
  readonly literals: readonly Literal[];
  readonly length: number;
  readonly paddedLength: number;
}

const KNOWN_NAMES = 1000;
const knownNames = new Map<string, Names>();

/** Most results have names that were seen before; making them anew takes a twentieth of the time of a page of 100 rows. */
function namesOf(columns: readonly Column[]): Names {
  const key = JSON.stringify(columns.map((column) => column.name));
  const known = knownNames.get(key);
  if (known !== undefined) return known;
  const literals = uniqueNames(columns).map((name, index) =>
    literal(`${index === 0 ? ",{" : ","}${JSON.stringify(name)}:`),
  );
  const names = {
    literals,
    length: literals.reduce((sum, name) => sum + name.length, 1),
    paddedLength: literals.reduce((sum, name) => sum + paddedLength(name), 0),
  };
  if (knownNames.size >= KNOWN_NAMES) knownNames.clear();
  knownNames.set(key, names);
  return names;
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
