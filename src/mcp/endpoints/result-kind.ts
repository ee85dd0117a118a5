/** The kind of result of a tool or resource, by its media type. */
export type ResultKind =
  /** All rows, as text. */
  | { readonly kind: "rows"; readonly format: RowsTextFormat }
  /** One value: the bytes of an image or audio. */
  | { readonly kind: "media"; readonly block: "image" | "audio" }
  /** The values of the first column. */
  | { readonly kind: "values" };

export type RowsTextFormat = "json" | "csv" | "markdown" | "ndjson";

const ROWS: Readonly<Record<string, RowsTextFormat>> = {
  "application/json": "json",
  "text/csv": "csv",
  "text/markdown": "markdown",
  "application/x-ndjson": "ndjson",
  "application/ndjson": "ndjson",
  "application/jsonl": "ndjson",
};

export function resultKindOf(mediaType: string): ResultKind {
  const essence = (mediaType.split(";")[0] ?? "").trim().toLowerCase();
  const format = Object.hasOwn(ROWS, essence) ? ROWS[essence] : undefined;
  if (format !== undefined) return { kind: "rows", format };
  if (essence.startsWith("image/")) return { kind: "media", block: "image" };
  if (essence.startsWith("audio/")) return { kind: "media", block: "audio" };
  return { kind: "values" };
}
