import { inLayout, isValid, textVector, type Vector, type VectorOf, viewOf } from "../../../result/chunk.ts";
import type { Column, ColumnType } from "../../../result/column.ts";
import { ARRAY, OBJECT, readNatural, scalarText } from "./load-variant-scalar.ts";

const uint8: ColumnType = { kind: "integer", bits: 8, signed: false };
const uint32: ColumnType = { kind: "integer", bits: 32, signed: false };

/** A VARIANT is a struct of four parts: all keys, the edges of the tree, its nodes, and their bytes. */
export const variantFields: readonly Column[] = [
  { name: "keys", type: { kind: "list", item: { kind: "text" } } },
  { name: "children", type: listOf({ keys_index: uint32, values_index: uint32 }) },
  { name: "values", type: listOf({ type_id: uint8, byte_offset: uint32 }) },
  { name: "data", type: { kind: "blob" } },
];

function listOf(fields: Readonly<Record<string, ColumnType>>): ColumnType {
  return {
    kind: "list",
    item: { kind: "struct", fields: Object.entries(fields).map(([name, type]) => ({ name, type })) },
  };
}

/** One VARIANT value: a tree whose root is node 0. */
interface Variant {
  readonly data: Buffer;
  key(index: number): string;
  edge(index: number): { readonly key: number; readonly node: number };
  node(index: number): { readonly tag: number; readonly offset: number };
}

/** VARIANT values as JSON text, by the rules for columns of the same types. */
export function variantText(stored: VectorOf<"struct">, rows: number): Vector {
  const variantAt = variantReader(stored.children);
  const texts = Array.from({ length: rows }, (_, row) =>
    isValid(stored.validity, row) ? nodeText(variantAt(row), 0) : "",
  );
  return textVector(texts, stored.validity);
}

function nodeText(variant: Variant, index: number): string {
  const { tag, offset } = variant.node(index);
  if (tag !== OBJECT && tag !== ARRAY) return scalarText(tag, variant.data, offset);
  const count = readNatural(variant.data, offset);
  const first = count.value === 0 ? count : readNatural(variant.data, count.next);
  const parts: string[] = [];
  for (let edgeIndex = first.value; edgeIndex < first.value + count.value; edgeIndex++) {
    const edge = variant.edge(edgeIndex);
    const value = nodeText(variant, edge.node);
    parts.push(tag === OBJECT ? `${JSON.stringify(variant.key(edge.key))}:${value}` : value);
  }
  return tag === OBJECT ? `{${parts.join(",")}}` : `[${parts.join(",")}]`;
}

function variantReader(parts: readonly Vector[]): (row: number) => Variant {
  const keys = part(parts, 0, "list");
  const edges = part(parts, 1, "list");
  const nodes = part(parts, 2, "list");
  const data = part(parts, 3, "bytes");
  const names = inLayout(keys.child, "bytes");
  const [edgeKeys, edgeNodes] = inLayout(edges.child, "struct").children.map(fixedView);
  const [tags, offsets] = inLayout(nodes.child, "struct").children.map(fixedView);
  return (row) => {
    const firstKey = keys.starts[row] ?? 0;
    const firstEdge = edges.starts[row] ?? 0;
    const firstNode = nodes.starts[row] ?? 0;
    return {
      data: bytesAt(data, row),
      key: (index) => bytesAt(names, firstKey + index).toString(),
      edge: (index) => ({
        key: edgeKeys?.getUint32((firstEdge + index) * 4, true) ?? 0,
        node: edgeNodes?.getUint32((firstEdge + index) * 4, true) ?? 0,
      }),
      node: (index) => ({
        tag: tags?.getUint8(firstNode + index) ?? 0,
        offset: offsets?.getUint32((firstNode + index) * 4, true) ?? 0,
      }),
    };
  };
}

function part<Layout extends Vector["layout"]>(
  parts: readonly Vector[],
  index: number,
  layout: Layout,
): VectorOf<Layout> {
  const vector = parts[index];
  if (vector === undefined) throw new Error(`A VARIANT has no part ${index}`);
  return inLayout(vector, layout);
}

function fixedView(vector: Vector): DataView {
  return viewOf(inLayout(vector, "fixed").data);
}

function bytesAt({ bytes, starts, lengths }: VectorOf<"bytes">, row: number): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset + (starts[row] ?? 0), lengths[row] ?? 0);
}
