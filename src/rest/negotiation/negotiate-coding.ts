import { type Compressor, compressors } from "../response/compressors.ts";
import { cacheByText } from "./cache-by-text.ts";
import { parseWeightedList, type WeightedMember } from "./weighted-list.ts";

/**
 * The compressor that a client prefers. Undefined if the response is not compressed, which is also the case for a client
 * that accepts no coding at all (RFC 9110, 12.5.3), and without the header, because simple clients do not send it.
 */
export function negotiateCoding(acceptEncoding: string | undefined): Compressor | undefined {
  return acceptEncoding === undefined ? undefined : (byHeader(acceptEncoding) ?? undefined);
}

const byHeader = cacheByText((header) => bestCompressor(compressors, parseWeightedList(header)) ?? null);

/** The compressor with the highest weight; of equal weights, the first. */
function bestCompressor(offered: readonly Compressor[], members: readonly WeightedMember[]): Compressor | undefined {
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
  // The client prefers uncompressed bytes.
  return most < (weightOf("identity") ?? 0) ? undefined : best;
}
