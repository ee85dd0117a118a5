/** Numbers in one slab: 64 KiB. */
const SLAB = 0x4000;

let slab = new Uint32Array(SLAB);
let used = 0;

/**
 * An array of zeros, cut from a larger array, no part of which is used twice. Allocating a typed array costs
 * 2.5 µs, mostly in the garbage collector, and a page of 100 rows needs a dozen of them.
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
