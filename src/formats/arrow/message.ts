import { viewOf } from "../../result/chunk.ts";
import { byte, flatbuffer, long, short, type Table, table, type Value } from "./flatbuffer.ts";

/**
 * Messages of an IPC stream: a marker, the length of the metadata, the metadata, and the body. The head is everything before
 * the body. See format/Message.fbs in Arrow.
 */

/** The number of bytes before the metadata. */
const PREFIX = 8;
const MARKER = 0xffff_ffff;
/** MetadataVersion.V5. */
const VERSION = 4;
const HEADER = { schema: 1, dictionary: 2, batch: 3 } as const;

/** A message without metadata. */
export const END_OF_STREAM: Uint8Array = Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0);

export function schemaMessage(fields: readonly Table[]): Uint8Array {
  const littleEndian = short(0);
  return headOf(messageOf(HEADER.schema, [littleEndian, { kind: "tables", tables: fields }], 0));
}

/** The contents of a record batch. */
export interface BatchLayout {
  readonly rows: number;
  /** Length and NULL count of every field, parents before children. */
  readonly nodes: readonly number[];
  /** Offset and length of every buffer. */
  readonly buffers: readonly number[];
  readonly bodyLength: number;
  /** `Codec.number`, if the buffers are compressed. */
  readonly codec: number | undefined;
}

/** The head of a batch. Its length depends on the number of nodes and buffers and on the codec, not on the values. */
export function batchHead(layout: BatchLayout): Uint8Array {
  return headOf(messageOf(HEADER.batch, batchTable(layout), layout.bodyLength));
}

/** The same for the values of a dictionary, which are a batch of one column. */
export function dictionaryHead(layout: BatchLayout, id: number): Uint8Array {
  const fields = [long(id), table(...batchTable(layout))];
  return headOf(messageOf(HEADER.dictionary, fields, layout.bodyLength));
}

function headOf(metadata: Uint8Array): Uint8Array {
  const head = new Uint8Array(PREFIX + metadata.length);
  const view = viewOf(head);
  view.setUint32(0, MARKER, true);
  view.setUint32(4, metadata.length, true);
  head.set(metadata, PREFIX);
  return head;
}

function messageOf(header: number, fields: Table, bodyLength: number): Uint8Array {
  return flatbuffer([short(VERSION), byte(header), table(...fields), long(bodyLength)]);
}

function batchTable({ rows, nodes, buffers, codec }: BatchLayout): readonly (Value | undefined)[] {
  const perBuffer = byte(0);
  return [
    long(rows),
    { kind: "pairs", values: nodes },
    { kind: "pairs", values: buffers },
    codec === undefined ? undefined : table(byte(codec), perBuffer),
  ];
}
