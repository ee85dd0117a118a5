/** Numbers in one slab: 64 KiB. */
const SLAB = 0x4000;

let slab = new Uint32Array(SLAB);
let used = 0;

/**
 * Zeros of its own. Carved from a larger array, no part of which is ever given out twice: memory for a typed array costs
 * 2.5 µs, most of it in the garbage collector, and a page of 100 rows needs a dozen of them.
 */
export function zeros(length: number): Uint32Array {
  if (length > SLAB / 4) return new Uint32Array(length);
  if (used + length > SLAB) {
    slab = new Uint32Array(SLAB);
    used = 0;
  }
  used += length;
  return slab.subarray(used - length, used);
}
