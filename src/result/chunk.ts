/** Bit r is set if row r is not NULL (least significant bit first, as in Arrow). Undefined if no row is NULL. */
export type Validity = Uint8Array | undefined;

/** The values of one column in one chunk. column.ts describes the bytes of each type. */
export type Vector =
  | { readonly layout: "fixed"; readonly validity: Validity; readonly data: Uint8Array }
  /**
   * Row r consists of `lengths[r]` bytes, starting at `starts[r]`. Rows may overlap and be in any order. For a NULL, both
   * numbers are arbitrary. If `packed`, each row starts where the previous one ends, and a NULL has length 0.
   */
  | {
      readonly layout: "bytes";
      readonly validity: Validity;
      readonly starts: Uint32Array;
      readonly lengths: Uint32Array;
      readonly bytes: Uint8Array;
      readonly packed?: boolean;
    }
  | {
      readonly layout: "list";
      readonly validity: Validity;
      readonly starts: Uint32Array;
      readonly lengths: Uint32Array;
      readonly child: Vector;
      readonly childRows: number;
    }
  | { readonly layout: "array"; readonly validity: Validity; readonly child: Vector }
  | { readonly layout: "struct"; readonly validity: Validity; readonly children: readonly Vector[] }
  /** `tags[r]` is the index of the child that contains the value of row r. */
  | {
      readonly layout: "union";
      readonly validity: Validity;
      readonly tags: Uint8Array;
      readonly children: readonly Vector[];
    };

/** Some rows of a result, column by column. It owns its memory, so it remains valid after the query ends. */
export interface Chunk {
  readonly rows: number;
  readonly vectors: readonly Vector[];
}

export function isValid(validity: Validity, row: number): boolean {
  return validity === undefined || ((validity[row >> 3] ?? 0) & (1 << (row & 7))) !== 0;
}

export type VectorOf<Layout extends Vector["layout"]> = Extract<Vector, { layout: Layout }>;

/** Narrows a vector to the layout of its type. Throws if it has another. */
export function inLayout<Layout extends Vector["layout"]>(vector: Vector, layout: Layout): VectorOf<Layout> {
  if (vector.layout !== layout) throw new Error(`Expected a vector of layout ${layout}, got ${vector.layout}`);
  // TypeScript does not narrow by a type parameter. The line above has checked the layout.
  return vector as VectorOf<Layout>;
}

/** The memory of a chunk, about. */
export function chunkBytes({ vectors }: Chunk): number {
  return vectors.reduce((sum, vector) => sum + vectorBytes(vector), 0);
}

function vectorBytes(vector: Vector): number {
  const validity = vector.validity?.length ?? 0;
  switch (vector.layout) {
    case "fixed":
      return validity + vector.data.length;
    case "bytes":
      return validity + 8 * vector.starts.length + vector.bytes.length;
    case "list":
      return validity + 8 * vector.starts.length + vectorBytes(vector.child);
    case "array":
      return validity + vectorBytes(vector.child);
    case "struct":
    case "union":
      return vector.children.reduce((sum, child) => sum + vectorBytes(child), validity);
  }
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** A vector of these strings. */
export function textVector(texts: readonly string[], validity: Validity): VectorOf<"bytes"> {
  const bytes = Buffer.from(texts.join(""));
  const starts = new Uint32Array(texts.length);
  const lengths = new Uint32Array(texts.length);
  let start = 0;
  texts.forEach((text, row) => {
    starts[row] = start;
    lengths[row] = Buffer.byteLength(text);
    start += Buffer.byteLength(text);
  });
  return { layout: "bytes", validity, starts, lengths, bytes, packed: true };
}
