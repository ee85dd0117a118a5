import { inLayout, isValid } from "../../result/chunk.ts";
import { type Body, endBuffer } from "./body.ts";
import { validitySize, writeValidity } from "./validity.ts";
import type { FieldWriter, Span } from "./writer.ts";

/** Lists, and maps as lists of entries. */
export function list(item: FieldWriter): FieldWriter {
  return {
    buffers: 2 + item.buffers,
    nodes: 1 + item.nodes,
    measure(span) {
      const own = validitySize(span) + (span.to - span.from) * 4;
      return itemSpans(span).reduce((sum, items) => sum + item.measure(items), own);
    },
    write(body, spans, rows) {
      writeValidity(body, spans, rows);
      const items = writeOffsets(body, spans, rows);
      item.write(body, spans.flatMap(itemSpans), items);
    },
  };
}

/** The child rows of the lists in a span. Adjacent ranges are merged. */
function itemSpans(span: Span): readonly Span[] {
  const { validity, starts, lengths, child } = inLayout(span.vector, "list");
  const spans: Span[] = [];
  let from = 0;
  let to = 0;
  for (let row = span.from; row < span.to; row++) {
    const length = isValid(validity, row) ? (lengths[row] ?? 0) : 0;
    if (length === 0) continue;
    const start = starts[row] ?? 0;
    if (start !== to) {
      if (to > from) spans.push({ vector: child, from, to });
      from = start;
    }
    to = start + length;
  }
  if (to > from) spans.push({ vector: child, from, to });
  return spans;
}

/** Writes the offsets of the lists. Returns the number of items. */
function writeOffsets(body: Body, spans: readonly Span[], rows: number): number {
  const offsets = new Int32Array(body.bytes.buffer, body.at, rows + 1);
  let at = 0;
  let items = 0;
  offsets[0] = 0;
  for (const span of spans) {
    const { validity, lengths } = inLayout(span.vector, "list");
    for (let row = span.from; row < span.to; row++) {
      if (isValid(validity, row)) items += lengths[row] ?? 0;
      at += 1;
      offsets[at] = items;
    }
  }
  endBuffer(body, offsets.byteLength);
  return items;
}

/** Arrays of fixed size. Every row has `size` items, even a NULL. */
export function array(item: FieldWriter, size: number): FieldWriter {
  const itemSpan = (span: Span): Span => ({
    vector: inLayout(span.vector, "array").child,
    from: span.from * size,
    to: span.to * size,
  });
  return {
    buffers: 1 + item.buffers,
    nodes: 1 + item.nodes,
    measure: (span) => validitySize(span) + item.measure(itemSpan(span)),
    write(body, spans, rows) {
      writeValidity(body, spans, rows);
      item.write(body, spans.map(itemSpan), rows * size);
    },
  };
}

export function struct(fields: readonly FieldWriter[]): FieldWriter {
  return {
    buffers: fields.reduce((sum, field) => sum + field.buffers, 1),
    nodes: fields.reduce((sum, field) => sum + field.nodes, 1),
    measure: (span) => measureAll(fields, span, "struct", validitySize(span)),
    write(body, spans, rows) {
      writeValidity(body, spans, rows);
      writeAll(fields, "struct", { body, spans, rows });
    },
  };
}

/**
 * A sparse union: every member has a value for every row, and a type ID selects one. A union has no validity. A NULL is
 * written as a NULL of the first member, as in DuckDB's own Arrow export.
 */
export function union(members: readonly FieldWriter[]): FieldWriter {
  return {
    buffers: members.reduce((sum, member) => sum + member.buffers, 1),
    nodes: members.reduce((sum, member) => sum + member.nodes, 1),
    measure: (span) => measureAll(members, span, "union", span.to - span.from),
    write(body, spans, rows) {
      body.nodes.push(rows, 0);
      writeTypeIds(body, spans, rows);
      writeAll(members, "union", { body, spans, rows });
    },
  };
}

function writeTypeIds(body: Body, spans: readonly Span[], rows: number): void {
  const ids = new Uint8Array(body.bytes.buffer, body.at, rows);
  let at = 0;
  for (const span of spans) {
    const { validity, tags } = inLayout(span.vector, "union");
    for (let row = span.from; row < span.to; row++) {
      ids[at] = isValid(validity, row) ? (tags[row] ?? 0) : 0;
      at += 1;
    }
  }
  endBuffer(body, rows);
}

/** Arrow's null type has no buffers. */
export const nothing: FieldWriter = {
  buffers: 0,
  nodes: 1,
  measure: () => 0,
  write(body, _spans, rows) {
    body.nodes.push(rows, rows);
  },
};

function childSpan(span: Span, layout: "struct" | "union", index: number): Span {
  const vector = inLayout(span.vector, layout).children[index];
  if (vector === undefined) throw new Error(`A ${layout} has no child ${index}`);
  return { vector, from: span.from, to: span.to };
}

function measureAll(writers: readonly FieldWriter[], span: Span, layout: "struct" | "union", own: number): number {
  return writers.reduce((sum, writer, index) => sum + writer.measure(childSpan(span, layout, index)), own);
}

interface Rows {
  readonly body: Body;
  readonly spans: readonly Span[];
  readonly rows: number;
}

function writeAll(writers: readonly FieldWriter[], layout: "struct" | "union", { body, spans, rows }: Rows): void {
  writers.forEach((writer, index) => {
    writer.write(
      body,
      spans.map((span) => childSpan(span, layout, index)),
      rows,
    );
  });
}
