import type { Endpoint } from "../endpoint/endpoint.ts";
import type { FileRows } from "../engines/embedded-engine.ts";
import type { Window } from "../engines/engine.ts";
import type { Rows } from "../engines/rows.ts";
import { RequestFailure } from "../failure.ts";
import type { Chunk } from "../result/chunk.ts";

/** Enough to tell whether there is more than one row. */
export const TWO_ROWS: Window = { limit: 2, offset: 0 };

/** Throws unless there is exactly one row. */
export function requireOne(count: number): void {
  if (count === 0) throw new RequestFailure({ kind: "no-row" });
  if (count > 1) throw new RequestFailure({ kind: "several-rows" });
}

/** The rows of a read with `returns: one`, once it is certain that there is one. Otherwise closes them and rejects. */
export async function onlyRow(rows: Rows): Promise<Rows> {
  try {
    const chunks: Chunk[] = [];
    let count = 0;
    for (let chunk = await rows.next(); chunk !== undefined && count < 2; chunk = await rows.next()) {
      chunks.push(chunk);
      count += chunk.rows;
    }
    requireOne(count);
    return { ...rows, next: async () => chunks.shift() };
  } catch (error) {
    await rows.close();
    throw error;
  }
}

/** Returns its argument. Throws unless the endpoint may return that many rows. */
export function acceptFile({ operation }: Endpoint, written: FileRows): FileRows {
  if (operation.returns === "one") requireOne(written.rows);
  return written;
}
