import type { Chunk } from "../../result/chunk.ts";
import type { Column } from "../../result/column.ts";
import { uniqueNames } from "../../result/column-names.ts";
import type { Encoder, RowFormat } from "../format.ts";
import { bindAll, cellOf, widthOf } from "../values/cell.ts";
import { createSink, release, renew, reserve } from "../values/sink.ts";
import { guessSize } from "../values/size-guess.ts";
import { fieldOf } from "./field.ts";
import { writeCell, writerOf } from "./writer-of.ts";

/**
 * RFC 4180, with a header. NULL is an empty field, so in a single column, it is an empty line. This matches the RFC, DuckDB and
 * PostgreSQL, but some readers skip empty lines. Text that looks like a spreadsheet formula is not escaped.
 */
export const csv: RowFormat = {
  kind: "rows",
  name: "csv",
  mediaTypes: ["text/csv"],
  contentType: "text/csv; charset=utf-8; header=present",
  codecs: [],
  compressible: true,
  bufferPolicy: "small",
  open: openCsv,
};

const COMMA = 0x2c;
/** CR and LF as one little-endian 16-bit number. */
const CRLF = 0x0a0d;

function openCsv(columns: readonly Column[]): Encoder {
  const encodeRecords = openRecords(columns);
  const header = Buffer.from(`${uniqueNames(columns).map(fieldOf).join(",")}\r\n`);
  let begun = false;
  return {
    encode(chunk) {
      if (begun) return encodeRecords(chunk, 0);
      begun = true;
      const bytes = encodeRecords(chunk, header.length);
      bytes.set(header);
      return bytes;
    },
    end: () => (begun ? EMPTY : header),
  };
}

const EMPTY = new Uint8Array(0);

/** Encodes rows as records, after `head` unused bytes. The caller owns the memory. */
function openRecords(columns: readonly Column[]): (chunk: Chunk, head: number) => Buffer {
  const sink = createSink();
  const cells = columns.map((column) => cellOf(writerOf(column.type, sink)));
  // After each field, there is a comma or the end of the line.
  sink.slack = widthOf(cells) + cells.length + 1;
  return ({ rows, vectors }, head) => {
    renew(sink, head + vectors.reduce((sum, vector) => sum + guessSize(vector, rows), rows));
    bindAll(cells, vectors);
    let at = head;
    for (let row = 0; row < rows; row++) {
      reserve(sink, at, 0);
      for (const cell of cells) {
        at = writeCell(sink, at, cell, row);
        sink.view.setUint8(at, COMMA);
        at += 1;
      }
      // Replaces the last comma.
      sink.view.setUint16(at - 1, CRLF, true);
      at += 1;
    }
    return release(sink, at);
  };
}
