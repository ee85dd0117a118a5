import type { Column } from "../../result/column.ts";
import type { Encoder, Frame, RowFormat } from "../format.ts";
import { openRows } from "./rows.ts";

/** Rows as an array of objects, on its own or in the envelope of a page or a write; or a single row as an object. */
export const json: RowFormat = {
  kind: "rows",
  name: "json",
  mediaTypes: ["application/json"],
  contentType: "application/json",
  codecs: [],
  compressible: true,
  bufferPolicy: "small",
  open: openJson,
};

function openJson(columns: readonly Column[], frame: Frame): Encoder {
  const isList = frame.kind !== "one" && !(frame.kind === "write" && frame.returns === "one");
  const rows = openRows(columns, { before: isList ? "," : "", after: "" });
  const head = Buffer.from(headOf(frame));
  // In a list, every row starts with a comma. The bracket at the end of the head replaces the first comma.
  const unused = isList ? head.length - 1 : head.length;
  let begun = false;
  return {
    encode(chunk) {
      if (chunk.rows === 0) return EMPTY;
      if (begun) return rows.encode(chunk, 0);
      begun = true;
      const bytes = rows.encode(chunk, unused);
      bytes.set(head);
      return bytes;
    },
    end() {
      const tail = Buffer.from(tailOf(frame));
      return begun ? tail : Buffer.concat([head, tail]);
    },
  };
}

const EMPTY = new Uint8Array(0);

function headOf(frame: Frame): string {
  switch (frame.kind) {
    case "rows":
      return "[";
    case "one":
      return "";
    case "page":
      return '{"data":[';
    case "write":
      return `{"rows_affected":${frame.rowsAffected},"data":${frame.returns === "one" ? "" : "["}`;
  }
}

function tailOf(frame: Frame): string {
  switch (frame.kind) {
    case "rows":
      return "]";
    case "one":
      return "";
    case "page":
      return `],"next":${JSON.stringify(frame.next)},"total_count":${frame.total}}`;
    case "write":
      return frame.returns === "one" ? "}" : "]}";
  }
}
