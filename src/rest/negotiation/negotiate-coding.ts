import { type Compressor, compressors } from "../response/compressors.ts";
import { rememberByText } from "./remember.ts";
import { parseWeightedList, type Weighted } from "./weighted-list.ts";

/**
 * How a client wants bytes to be compressed; undefined: as they are. That is also the answer to a client that accepts
 * nothing at all, as RFC 9110 (12.5.3) advises. Without the header nothing is compressed: bare clients do not send it.
 */
export function negotiateCoding(acceptEncoding: string | undefined): Compressor | undefined {
  return acceptEncoding === undefined ? undefined : (byHeader(acceptEncoding) ?? undefined);
}

const byHeader = rememberByText((header) => bestCompressor(compressors, parseWeightedList(header)) ?? null);

/** Of equal weights, the first of the list. */
function bestCompressor(offered: readonly Compressor[], members: readonly Weighted[]): Compressor | undefined {
  const weightOf = (...names: readonly string[]): number | undefined =>
    members.find(({ value }) => names.includes(value))?.q;
  const others = weightOf("*") ?? 0;
  let best: Compressor | undefined;
  let most = 0;
  for (const compressor of offered) {
    const q = weightOf(compressor.coding, `x-${compressor.coding}`) ?? others;
    if (q <= most) continue;
    best = compressor;
    most = q;
  }
  // One that says it likes plain bytes better gets them.
  return most < (weightOf("identity") ?? 0) ? undefined : best;
}
