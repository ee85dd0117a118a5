import { type Compressor, compressors } from "../response/compressors.ts";
import { cacheByText } from "./cache-by-text.ts";
import { parseWeightedList, type WeightedMember } from "./weighted-list.ts";

/**
 * The compressor that a client prefers, or undefined for none. A client that accepts no coding at all also gets none, as
 * RFC 9110 (12.5.3) advises. Without the header nothing is compressed, because simple clients do not send it.
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
