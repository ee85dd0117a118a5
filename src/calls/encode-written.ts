import type { Written } from "../engines/engine.ts";
import { json } from "../formats/json/json.ts";

/** Tells what was written. Spec 4.4. */
export async function encodeWritten({ rowsAffected, rows }: Written): Promise<string> {
  if (rows === undefined) return `{"rows_affected":${rowsAffected}}`;
  const encoder = json.open(rows.columns, { kind: "write", rowsAffected });
  const pieces: Uint8Array[] = [];
  for (let chunk = await rows.next(); chunk !== undefined; chunk = await rows.next())
    pieces.push(encoder.encode(chunk));
  return Buffer.concat([...pieces, encoder.end()]).toString();
}
