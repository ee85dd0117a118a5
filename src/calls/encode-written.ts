import type { WriteResult } from "../engines/rows.ts";
import { json } from "../formats/json/json.ts";

/** What was written, as JSON. `earlier` is such a response too, of statements that ran before: its data are kept. */
export async function encodeWritten({ rowsAffected, rows }: WriteResult, earlier = "{}"): Promise<string> {
  if (rows === undefined) return `{"rows_affected":${rowsAffected}${earlier.slice(earlier.search(/[,}]/))}`;
  const encoder = json.open(rows.columns, { kind: "write", rowsAffected });
  const pieces: Uint8Array[] = [];
  for (let chunk = await rows.next(); chunk !== undefined; chunk = await rows.next())
    pieces.push(encoder.encode(chunk));
  return Buffer.concat([...pieces, encoder.end()]).toString();
}
