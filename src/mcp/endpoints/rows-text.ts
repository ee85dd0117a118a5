import { csv } from "../../formats/csv/csv.ts";
import type { RowFormat } from "../../formats/format.ts";
import { openRows } from "../../formats/json/rows.ts";
import { ndjson } from "../../formats/ndjson/ndjson.ts";
import { type Chunk, isValid } from "../../result/chunk.ts";
import type { Column } from "../../result/column.ts";
import { uniqueNames } from "../../result/column-names.ts";
import type { GatheredRows } from "./gather-rows.ts";
import type { RowsTextFormat } from "./result-kind.ts";

export function rowsText(rows: GatheredRows, format: RowsTextFormat): string {
  switch (format) {
    case "json":
      return rows.json;
    case "csv":
      return encodeRows(rows, csv);
    case "ndjson":
      return encodeRows(rows, ndjson);
    case "markdown":
      return markdownTable(rows);
  }
}

/** The values of the first column, separated by line breaks. */
export function firstColumnText({ columns, chunks }: GatheredRows): string {
  const texts = chunks.flatMap((chunk) => valueTexts(columns, chunk, 0));
  return texts.map((text) => text ?? "").join("\n");
}

function encodeRows({ columns, chunks }: GatheredRows, format: RowFormat): string {
  const encoder = format.open(columns, { kind: "rows" });
  return Buffer.concat([...chunks.map((chunk) => encoder.encode(chunk)), encoder.end()]).toString();
}

function markdownTable({ columns, chunks }: GatheredRows): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(escapeCell).join(" | ")} |\n`;
  let text = line(uniqueNames(columns)) + line(columns.map(() => "---"));
  for (const chunk of chunks) {
    const texts = columns.map((_, index) => valueTexts(columns, chunk, index));
    for (let row = 0; row < chunk.rows; row++) text += line(texts.map((column) => column[row] ?? ""));
  }
  return text;
}

/** Escapes characters that would end a cell or a row. */
function escapeCell(text: string): string {
  return text.replace(/[\\|]/g, "\\$&").replace(/\r\n|\r|\n/g, "<br>");
}

/** The number of characters before and after the value, in a JSON row with one column. */
const BEFORE = '{"v":'.length;
const AFTER = "}".length;

/** The values of one column as plain text, undefined for NULL. Numbers keep all digits; nested values are JSON. */
export function valueTexts(columns: readonly Column[], chunk: Chunk, index: number): readonly (string | undefined)[] {
  const column = columns[index];
  const vector = chunk.vectors[index];
  if (column === undefined || vector === undefined) return [];
  const encoder = openRows([{ name: "v", type: column.type }], { before: "", after: "\n" });
  const lines = encoder
    .encode({ rows: chunk.rows, vectors: [vector] }, 0)
    .toString()
    .split("\n");
  return lines.slice(0, chunk.rows).map((line, row) => {
    if (!isValid(vector.validity, row)) return undefined;
    const json = line.slice(BEFORE, -AFTER);
    return json.startsWith('"') ? String(JSON.parse(json)) : json;
  });
}
