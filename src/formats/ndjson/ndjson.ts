import type { Column } from "../../result/column.ts";
import type { Encoder, RowFormat } from "../format.ts";
import { openRows } from "../json/rows.ts";

/** One JSON object per line, for clients that process rows as they arrive. */
export const ndjson: RowFormat = {
  kind: "rows",
  name: "ndjson",
  mediaTypes: ["application/x-ndjson", "application/ndjson", "application/jsonl"],
  contentType: "application/x-ndjson",
  codecs: [],
  compressible: true,
  bufferPolicy: "small",
  open: openNdjson,
};

function openNdjson(columns: readonly Column[]): Encoder {
  const rows = openRows(columns, { before: "", after: "\n" });
  return {
    encode: (chunk) => rows.encode(chunk, 0),
    end: () => EMPTY,
  };
}

const EMPTY = new Uint8Array(0);
