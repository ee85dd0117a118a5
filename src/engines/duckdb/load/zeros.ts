/** Of a slab, in 32-bit numbers: 64 KiB. */
const SLAB_LENGTH = 0x4000;

let slab = new Uint32Array(SLAB_LENGTH);
let used = 0;

/**
 * An array of zeros, cut from a larger array. No range of that is handed out twice, so callers may keep theirs. Allocating a typed
 * array costs 2.5 µs, mostly in the garbage collector, and a page of 100 rows needs a dozen of them.
 */
export function zeros(length: number): Uint32Array {
  if (length > SLAB_LENGTH / 4) return new Uint32Array(length);
  if (used + length > SLAB_LENGTH) {
    slab = new Uint32Array(SLAB_LENGTH);
    used = 0;
  }
  used += length;
  return slab.subarray(used - length, used);
}
