import type { Chunk } from "../../result/chunk.ts";
import type { Column } from "../../result/column.ts";
import type { Encoder, Frame, RowFormat } from "../format.ts";
import { appendEndOfStream, type BatchRows, batchMessage, dictionaryMessage } from "./batch.ts";
import { codecNames, prepareCodec, preparedCodec } from "./codec.ts";
import { type EnumType, fieldsOf } from "./field.ts";
import { END_OF_STREAM, schemaMessage } from "./message.ts";
import type { FieldWriter, Span } from "./writer.ts";
import { writersOf } from "./writer-of.ts";

/** An Apache Arrow IPC stream. */
export const arrow: RowFormat = {
  kind: "rows",
  name: "arrow",
  mediaTypes: ["application/vnd.apache.arrow.stream"],
  contentType: "application/vnd.apache.arrow.stream",
  codecs: codecNames,
  compressible: false,
  bufferPolicy: "buffered",
  prepare: prepareCodec,
  open: openArrow,
};

/** A batch ends when it reaches one of these. */
const BATCH_ROWS = 16_384;
const BATCH_BYTES = 16 * 1024 * 1024;
/** Offsets are signed 32-bit integers. */
const MAX_ROW_BYTES = 2 ** 31 - 1;

function openArrow(columns: readonly Column[], _frame: Frame, codecName?: string): Encoder {
  const codec = codecName === undefined ? undefined : preparedCodec(codecName);
  const writers = writersOf(columns);
  const dictionaries: EnumType[] = [];
  const schema = schemaMessage(fieldsOf(columns, (type) => dictionaries.push(type) - 1));
  let batch = emptyBatch(columns);
  /** Finished messages. */
  let ready: Uint8Array[] = [schema];

  function finishBatch(): Buffer {
    // Dictionaries precede the first batch. A response without rows needs none.
    ready.push(...dictionaries.splice(0).map((type, id) => dictionaryMessage(type, id, codec)));
    const message = batchMessage(writers, batch, codec);
    batch = emptyBatch(columns);
    return message;
  }

  /** Adds rows of a chunk. Splits them in half if they do not fit into one batch. */
  function add(chunk: Chunk, from: number, to: number): void {
    const spans = columns.map((_, column) => spanOf(chunk, column, from, to));
    const size = sizeOf(writers, spans);
    if (size > BATCH_BYTES && to - from > 1) {
      const middle = (from + to) >> 1;
      add(chunk, from, middle);
      add(chunk, middle, to);
      return;
    }
    if (size > MAX_ROW_BYTES) throw new Error(`A row of ${size} bytes is too large for Arrow.`);
    if (batch.rows > 0 && batch.size + size > BATCH_BYTES) ready.push(finishBatch());
    spans.forEach((span, column) => batch.spans[column]?.push(span));
    batch.rows += to - from;
    batch.size += size;
    if (batch.rows >= BATCH_ROWS) ready.push(finishBatch());
  }

  function takeReady(): Uint8Array {
    const messages = ready;
    ready = [];
    const [only = NOTHING] = messages;
    return messages.length > 1 ? Buffer.concat(messages) : only;
  }

  return {
    encode(chunk) {
      if (chunk.rows > 0) add(chunk, 0, chunk.rows);
      return takeReady();
    },
    end() {
      ready.push(batch.rows > 0 ? appendEndOfStream(finishBatch()) : END_OF_STREAM.slice());
      return takeReady();
    },
  };
}

const NOTHING = new Uint8Array(0);

interface Batch extends BatchRows {
  readonly spans: readonly Span[][];
  rows: number;
  size: number;
}

function emptyBatch(columns: readonly Column[]): Batch {
  return { spans: columns.map(() => []), rows: 0, size: 0 };
}

function spanOf({ vectors }: Chunk, column: number, from: number, to: number): Span {
  const vector = vectors[column];
  if (vector === undefined) throw new Error(`Expected a vector for column ${column}, got ${vectors.length} in all`);
  return { vector, from, to };
}

function sizeOf(writers: readonly FieldWriter[], spans: readonly Span[]): number {
  return spans.reduce((sum, span, column) => sum + (writers[column]?.measure(span) ?? 0), 0);
}
