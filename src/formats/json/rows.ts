import { openLru } from "../../bounded/lru.ts";
import type { Chunk } from "../../result/chunk.ts";
import type { Column } from "../../result/column.ts";
import { uniqueNames } from "../../result/column-names.ts";
import { bindAll, cellOf, widthOf } from "../values/cell.ts";
import { type Literal, literal, paddedLength, writeLiteral } from "../values/literal.ts";
import { createSink, release, renew, reserve } from "../values/sink.ts";
import { guessSize } from "../values/size-guess.ts";
import { writeCell } from "./cell.ts";
import { writerOf } from "./writer-of.ts";

export interface RowsEncoder {
  /** The rows as JSON objects, after `head` unused bytes. The caller owns the memory. */
  encode(chunk: Chunk, head: number): Buffer;
}

/** The characters before and after each row. */
export interface RowDelimiters {
  readonly before: "," | "";
  readonly after: "\n" | "";
}

/** `}` and a line feed as one 16-bit number. Without `after`, the line feed is overwritten. */
const CLOSE = 0x0a7d;

/** By columns and delimiters. Making one takes longer than encoding a row, and it keeps nothing between two calls. */
const encoders = new WeakMap<readonly Column[], Map<string, RowsEncoder>>();
/** An encoder refers to the vectors that it encoded last. After larger ones, it is not used again. */
const MAX_KEPT_BYTES = 64 * 1024;

export function openRows(columns: readonly Column[], delimiters: RowDelimiters): RowsEncoder {
  const key = `${delimiters.before}\0${delimiters.after}`;
  const known = encoders.get(columns)?.get(key);
  if (known !== undefined) return known;
  const encoder = createEncoder(columns, delimiters);
  const all = encoders.get(columns) ?? new Map<string, RowsEncoder>();
  encoders.set(columns, all.set(key, encoder));
  return encoder;
}

function createEncoder(columns: readonly Column[], delimiters: RowDelimiters): RowsEncoder {
  const sink = createSink();
  const cells = columns.map((column) => cellOf(writerOf(column.type, sink)));
  const names = namesOf(columns, delimiters);
  const fields = cells.map((cell, index) => ({ name: names.literals[index] ?? literal(""), cell }));
  const closeLength = 1 + delimiters.after.length;
  sink.slack = widthOf(cells) + names.paddedLength + 2;
  return {
    encode({ rows, vectors }, head) {
      const size = vectors.reduce((sum, vector) => sum + guessSize(vector, rows), rows * names.length);
      if (size > MAX_KEPT_BYTES) encoders.delete(columns);
      renew(sink, head + size);
      bindAll(cells, vectors);
      let at = head;
      for (let row = 0; row < rows; row++) {
        reserve(sink, at, 0);
        for (const { name, cell } of fields) at = writeCell(sink, writeLiteral(sink.view, at, name), cell, row);
        sink.view.setUint16(at, CLOSE, true);
        at += closeLength;
      }
      return release(sink, at);
    },
  };
}

interface Names {
  /** The delimiter and `{"a":` for the first column, `,"b":` for the others. */
  readonly literals: readonly Literal[];
  readonly length: number;
  readonly paddedLength: number;
}

/** Names are stored twice: in the key and in a padded literal. */
const nameCache = openLru<Names>({
  maxBytes: 8 * 1024 * 1024,
  bytesOf: ({ literals, paddedLength }) => literals.length * 256 + paddedLength * 2,
});

/** Cached, because encoding the names takes 5 % of the time for a page of 100 rows. */
function namesOf(columns: readonly Column[], { before }: RowDelimiters): Names {
  const key = before + JSON.stringify(columns.map((column) => column.name));
  const known = nameCache.get(key);
  if (known !== undefined) return known;
  const literals = uniqueNames(columns).map((name, index) =>
    literal(`${index === 0 ? `${before}{` : ","}${JSON.stringify(name)}:`),
  );
  const names = {
    literals,
    length: literals.reduce((sum, name) => sum + name.length, 2),
    paddedLength: literals.reduce((sum, name) => sum + paddedLength(name), 0),
  };
  nameCache.set(key, names);
  return names;
}
