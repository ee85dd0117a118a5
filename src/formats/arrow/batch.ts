import { textVector } from "../../result/chunk.ts";
import { type Body, BUFFER_MARGIN, endBuffer, openBody } from "./body.ts";
import type { Codec } from "./codec.ts";
import type { EnumType } from "./field.ts";
import { type BatchLayout, batchHead, dictionaryHead, END_OF_STREAM } from "./message.ts";
import { strings } from "./strings.ts";
import type { FieldWriter, Span } from "./writer.ts";

/** The rows of one record batch. */
export interface BatchRows {
  /** One list per column. */
  readonly spans: readonly (readonly Span[])[];
  readonly rows: number;
  /** The sum of `FieldWriter.measure`. */
  readonly size: number;
}

/** Encodes a record batch as one message, followed by unused bytes for the end-of-stream marker. */
export function batchMessage(writers: readonly FieldWriter[], batch: BatchRows, codec: Codec | undefined): Buffer {
  const { spans, rows, size } = batch;
  const body = openBody(headRoom(writers), size + marginOf(writers) + END_OF_STREAM.length);
  writers.forEach((writer, column) => {
    writer.write(body, spans[column] ?? [], rows);
  });
  return finishMessage(body, rows, codec, batchHead);
}

/** The values of an enum, as one message. */
export function dictionaryMessage({ values }: EnumType, id: number, codec: Codec | undefined): Buffer {
  const texts = Array.from({ length: values.length }, (_, index) => values.at(index) ?? "");
  const span: Span = { vector: textVector(texts, undefined), from: 0, to: texts.length };
  const body = openBody(headRoom([strings]), strings.measure(span) + marginOf([strings]));
  strings.write(body, [span], texts.length);
  return finishMessage(body, texts.length, codec, (layout) => dictionaryHead(layout, id));
}

/** An upper bound for the length of the head, which contains a pair of 64-bit numbers per node and per buffer. */
function headRoom(writers: readonly FieldWriter[]): number {
  return writers.reduce((sum, { nodes, buffers }) => sum + (nodes + buffers) * 16, 256);
}

function marginOf(writers: readonly FieldWriter[]): number {
  return writers.reduce((sum, writer) => sum + writer.buffers * BUFFER_MARGIN, 0);
}

function finishMessage(
  written: Body,
  rows: number,
  codec: Codec | undefined,
  headOf: (layout: BatchLayout) => Uint8Array,
): Buffer {
  const body = codec === undefined ? written : compressBuffers(written, codec);
  const { nodes, buffers, start, at: end } = body;
  const head = headOf({ rows, nodes, buffers, bodyLength: end - start, codec: codec?.number });
  body.bytes.set(head, start - head.length);
  return body.bytes.subarray(start - head.length, end);
}

/** Written before a buffer that is not compressed, in place of its uncompressed length. */
const UNCOMPRESSED = -1n;
const LENGTH_BYTES = 8;
/** Larger buffers are not compressed. Only a single huge value needs one, and WebAssembly may lack the memory for it. */
const MAX_COMPRESSIBLE_BYTES = 64 * 1024 * 1024;

/** Compresses every buffer that becomes smaller. */
function compressBuffers(body: Body, codec: Codec): Body {
  const pieces: { readonly length: bigint; readonly bytes: Uint8Array }[] = [];
  for (let index = 0; index < body.buffers.length; index += 2) {
    const from = body.start + (body.buffers[index] ?? 0);
    const bytes = body.bytes.subarray(from, from + (body.buffers[index + 1] ?? 0));
    const smaller = bytes.length > 0 && bytes.length <= MAX_COMPRESSIBLE_BYTES ? codec.compress(bytes) : bytes;
    pieces.push(
      smaller.length < bytes.length
        ? { length: BigInt(bytes.length), bytes: smaller }
        : { length: UNCOMPRESSED, bytes },
    );
  }
  const size = pieces.reduce((sum, { bytes }) => sum + LENGTH_BYTES + bytes.length + BUFFER_MARGIN, 0);
  const result: Body = { ...openBody(body.start, size + END_OF_STREAM.length), nodes: body.nodes };
  for (const { length, bytes } of pieces) {
    // An empty buffer stays empty.
    if (bytes.length > 0) {
      result.view.setBigInt64(result.at, length, true);
      result.bytes.set(bytes, result.at + LENGTH_BYTES);
    }
    endBuffer(result, bytes.length === 0 ? 0 : LENGTH_BYTES + bytes.length);
  }
  return result;
}

/** Writes the end-of-stream marker into the unused bytes after the message. */
export function appendEndOfStream(message: Buffer): Uint8Array {
  const whole = new Uint8Array(message.buffer, message.byteOffset, message.length + END_OF_STREAM.length);
  whole.set(END_OF_STREAM, message.length);
  return whole;
}
