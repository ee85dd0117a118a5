import type { Returns } from "../config/project.ts";
import type { WriteResult } from "../engines/rows.ts";
import { json } from "../formats/json/json.ts";

/** The result of a write, as JSON. `earlier` is the response to statements that ran before; its data is kept. */
export async function encodeWritten(
  { rowsAffected, rows }: WriteResult,
  earlier = "{}",
  returns: Returns = "many",
): Promise<string> {
  if (rows === undefined) return `{"rows_affected":${rowsAffected}${earlier.slice(earlier.search(/[,}]/))}`;
  const encoder = json.open(rows.columns, { kind: "write", rowsAffected, returns });
  const pieces: Uint8Array[] = [];
  for (let chunk = await rows.next(); chunk !== undefined; chunk = await rows.next())
    pieces.push(encoder.encode(chunk));
  return Buffer.concat([...pieces, encoder.end()]).toString();
}
