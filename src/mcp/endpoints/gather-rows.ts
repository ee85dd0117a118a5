import type { Rows } from "../../engines/rows.ts";
import { openRows } from "../../formats/json/rows.ts";
import { guessSize } from "../../formats/values/size-guess.ts";
import type { Chunk } from "../../result/chunk.ts";
import type { Column } from "../../result/column.ts";
import { sliceChunk } from "../../result/slice-chunk.ts";

/** The rows of one result, up to the limits. */
export interface GatheredRows {
  readonly columns: readonly Column[];
  /** `count` rows in total. */
  readonly chunks: readonly Chunk[];
  readonly count: number;
  /** JSON text of the array of rows. */
  readonly json: string;
  /** Undefined if these are all rows. */
  readonly exceededLimit: "rows" | "bytes" | undefined;
}

export interface GatherLimits {
  readonly maxRows: number;
  readonly maxTextBytes: number;
}

/** Reads rows up to the limits, and no more chunks than needed, so that a long query stops early. The caller closes the rows. */
export async function gatherRows(
  { columns }: Pick<Rows, "columns">,
  next: Rows["next"],
  { maxRows, maxTextBytes }: GatherLimits,
): Promise<GatheredRows> {
  const encoder = openRows(columns, { before: ",", after: "" });
  const encode = (chunk: Chunk): Buffer => encoder.encode(chunk, 0);
  const chunks: Chunk[] = [];
  let json = "";
  let bytes = 2;
  let count = 0;
  const result = (exceededLimit: GatheredRows["exceededLimit"]): GatheredRows => ({
    columns,
    chunks,
    count,
    // Every row starts with a comma.
    json: `[${json.slice(1)}]`,
    exceededLimit,
  });
  for (let chunk = await next(); chunk !== undefined; chunk = await next()) {
    if (chunk.rows === 0) continue;
    const wanted = Math.min(chunk.rows, maxRows - count);
    const fitting = fittingRows(sliceChunk(chunk, columns, { from: 0, to: wanted }), columns, {
      encode,
      maxBytes: maxTextBytes - bytes,
      estimatedBytes: (estimateBytes(chunk) * wanted) / chunk.rows,
    });
    if (fitting.chunk.rows > 0) chunks.push(fitting.chunk);
    count += fitting.chunk.rows;
    bytes += fitting.bytes.length;
    json += fitting.bytes.toString();
    if (fitting.chunk.rows < wanted) return result("bytes");
    if (wanted < chunk.rows) return result("rows");
  }
  return result(undefined);
}

interface FittingRows {
  readonly chunk: Chunk;
  readonly bytes: Buffer;
}

interface FitOptions {
  readonly encode: (chunk: Chunk) => Buffer;
  readonly maxBytes: number;
  readonly estimatedBytes: number;
}

function estimateBytes({ vectors, rows }: Chunk): number {
  return vectors.reduce((sum, vector) => sum + guessSize(vector, rows), 0);
}

const EMPTY = Buffer.alloc(0);
/** If the estimate exceeds the limit by more than this factor, encoding the whole chunk first would be wasteful. */
const MAX_ESTIMATE_FACTOR = 4;

/** The first rows that fit. Uses a binary search, because the size is known only after encoding. */
function fittingRows(
  chunk: Chunk,
  columns: readonly Column[],
  { encode, maxBytes, estimatedBytes }: FitOptions,
): FittingRows {
  if (estimatedBytes <= maxBytes * MAX_ESTIMATE_FACTOR) {
    const bytes = encode(chunk);
    if (bytes.length <= maxBytes) return { chunk, bytes };
  }
  let best: FittingRows = { chunk: sliceChunk(chunk, columns, { from: 0, to: 0 }), bytes: EMPTY };
  let [least, most] = [0, chunk.rows];
  while (most - least > 0) {
    const rows = Math.ceil((least + most) / 2);
    const some = sliceChunk(chunk, columns, { from: 0, to: rows });
    const bytes = encode(some);
    if (bytes.length <= maxBytes) {
      best = { chunk: some, bytes };
      least = rows;
    } else most = rows - 1;
  }
  return best;
}
