import duckdb from "@duckdb/node-bindings";
import { isValid, type Validity, type VectorOf } from "../../../result/chunk.ts";
import { LongVector, type VectorBounds } from "./long-vector.ts";
import { zeros } from "./zeros.ts";

type BytesVector = VectorOf<"bytes">;

/** DuckDB stores a string in a slot of 16 bytes: length (4), then up to 12 bytes of text, or a prefix (4) and a pointer (8). */
const SLOT = 16;
const INLINE = 12;

/**
 * Two strings are fetched with one native call only when fewer bytes than this lie between them: both ends of the gap
 * are then on mapped pages. A larger gap may span a hole in the address space, and reading that crashes the process.
 */
const MAX_GAP = 4096;

/** Each run costs a native call: more runs than this are worth sorting and merging. */
const MAX_UNSORTED_RUNS = 16;
/** Up to this many runs are not joined across gaps: packed strings are cheaper to copy later. */
const FEW_RUNS = 8;

export interface StringsExtent {
  readonly rows: number;
  readonly validity: Validity;
  readonly bounds: VectorBounds;
}

/** Copies the strings of a vector: its slots, and each run of neighbouring long strings with one native call. */
export function loadStrings(vector: duckdb.Vector, { rows, validity, bounds }: StringsExtent): BytesVector {
  const slots = aligned(duckdb.vector_get_data(vector, rows * SLOT));
  const words = new Uint32Array(slots.buffer, slots.byteOffset, rows * SLOT_WORDS);
  const starts = zeros(rows);
  const lengths = zeros(rows);
  const short = packShort(words, { validity, starts, lengths });
  if (short.rows === rows) return { layout: "bytes", validity, starts, lengths, bytes: slots, packed: true };
  const runs: Run[] = [];
  let run: Run = { from: Number.POSITIVE_INFINITY, to: Number.NEGATIVE_INFINITY, slot: 0, start: 0 };
  /** The end of the run, copied to `run.to` later: a local number is cheaper to change. */
  let runEnd = run.to;
  let hasInline = short.bytes > 0;
  /** Where the next long string begins if they are packed: copied in order, without gaps. */
  let end = 0;
  let inOrder = true;
  for (let row = short.rows; row < rows; row++) {
    starts[row] = end;
    // An invalid slot holds garbage: neither its length nor its pointer may be used.
    if (validity !== undefined && !isValid(validity, row)) continue;
    const length = words[row * SLOT_WORDS] ?? 0;
    lengths[row] = length;
    if (length === 0) continue;
    if (length <= INLINE) {
      starts[row] = row * SLOT + 4;
      hasInline = true;
      continue;
    }
    const address = addressAt(words, row);
    end += length;
    if (address === runEnd) {
      runEnd += length;
      continue;
    }
    run.to = runEnd;
    if ((inOrder && runs.length < FEW_RUNS) || !tryJoin(run, address, length, row)) {
      run = { from: address, to: address + length, slot: row * SLOT, start: 0 };
      runs.push(run);
    } else inOrder = false;
    runEnd = run.to;
  }
  // The slots are copied anyway, so the strings may always take as many bytes as the slots.
  if (end > Math.max(bounds.pieceBytes, slots.length)) throw new LongVector(end, { isOneValue: false });
  run.to = runEnd;
  const segments = runs.length > MAX_UNSORTED_RUNS ? mergeRuns(runs) : runs;
  const bytes = fetchAll(segments, slots, hasInline);
  const packed = inOrder && !hasInline && segments === runs;
  const [only] = segments;
  if (packed) return { layout: "bytes", validity, starts, lengths, bytes, packed };
  if (segments.length === 1 && only !== undefined) placeInOne(only, words, lengths, starts);
  else placeInMany(segments, words, lengths, starts, segments === runs ? indexOf : search);
  return { layout: "bytes", validity, starts, lengths, bytes, packed };
}

/**
 * Moves short strings together at the beginning of the slots, up to the first long one: no slot is overwritten before it
 * is read, since a short string is smaller than its slot. Returns how many rows were packed, and their bytes.
 */
function packShort(
  words: Uint32Array,
  { validity, starts, lengths }: Omit<BytesVector, "layout" | "bytes">,
): { readonly rows: number; readonly bytes: number } {
  const out = new DataView(words.buffer, words.byteOffset, words.byteLength);
  let end = 0;
  let row = 0;
  for (; row < lengths.length; row++) {
    starts[row] = end;
    // An invalid slot holds garbage.
    if (validity !== undefined && !isValid(validity, row)) continue;
    const at = row * SLOT_WORDS;
    const length = words[at] ?? 0;
    if (length > INLINE) break;
    lengths[row] = length;
    const first = words[at + 1] ?? 0;
    const second = words[at + 2] ?? 0;
    const third = words[at + 3] ?? 0;
    out.setUint32(end, first, true);
    out.setUint32(end + 4, second, true);
    out.setUint32(end + 8, third, true);
    end += length;
  }
  return { rows: row, bytes: end };
}

/** A slot as 32-bit numbers: length, prefix, lower and upper half of the address. */
const SLOT_WORDS = SLOT / 4;

/** Copies the slots if they are not aligned. The bindings return aligned memory today. */
function aligned(slots: Uint8Array): Uint8Array {
  return (slots.byteOffset & 3) === 0 ? slots : Uint8Array.from(slots);
}

function addressAt(words: Uint32Array, row: number): number {
  return (words[row * SLOT_WORDS + 3] ?? 0) * 0x1_0000_0000 + (words[row * SLOT_WORDS + 2] ?? 0);
}

/** The usual case. A segment is shorter than 4 GiB, so the lower halves of two addresses are enough to compute their distance. */
function placeInOne(segment: Run, words: Uint32Array, lengths: Uint32Array, starts: Uint32Array): void {
  const shift = segment.start - (segment.from % 0x1_0000_0000);
  for (let row = 0; row < lengths.length; row++) {
    if ((lengths[row] ?? 0) > INLINE) starts[row] = (words[row * SLOT_WORDS + 2] ?? 0) + shift;
  }
}

function placeInMany(
  segments: readonly Run[],
  words: Uint32Array,
  lengths: Uint32Array,
  starts: Uint32Array,
  find: typeof search,
): void {
  let segment = segments[0];
  for (let row = 0; row < lengths.length; row++) {
    if ((lengths[row] ?? 0) <= INLINE) continue;
    const address = addressAt(words, row);
    if (segment === undefined || address < segment.from || address >= segment.to) {
      segment = segments[find(segments, address)];
    }
    if (segment !== undefined) starts[row] = segment.start + (address - segment.from);
  }
}

/** Neighbouring strings: addresses `from` to `to`, the slot that points at `from`, and their offset in the copy. */
interface Run {
  from: number;
  to: number;
  slot: number;
  start: number;
}

/** Extends a run to a string if that is close enough to be fetched with it. Returns whether it was. */
function tryJoin(run: Run, address: number, length: number, row: number): boolean {
  if (address >= run.from) {
    if (address - run.to >= MAX_GAP) return false;
  } else {
    if (run.from - (address + length) >= MAX_GAP) return false;
    run.from = address;
    run.slot = row * SLOT;
  }
  if (address + length > run.to) run.to = address + length;
  return true;
}

function mergeRuns(runs: readonly Run[]): readonly Run[] {
  const sorted = runs.toSorted((a, b) => a.from - b.from);
  const segments: Run[] = [];
  let last: Run | undefined;
  for (const run of sorted) {
    if (last === undefined || run.from - last.to >= MAX_GAP) {
      segments.push(run);
      last = run;
    } else if (run.to > last.to) last.to = run.to;
  }
  return segments;
}

function fetchAll(segments: readonly Run[], slots: Uint8Array, hasInline: boolean): Uint8Array {
  const [only] = segments;
  if (segments.length === 1 && only !== undefined && !hasInline) return fetchRun(slots, only);
  let size = hasInline ? slots.length : 0;
  for (const segment of segments) size += segment.to - segment.from;
  const bytes = Buffer.allocUnsafeSlow(size);
  let start = 0;
  if (hasInline) {
    bytes.set(slots);
    start = slots.length;
  }
  for (const segment of segments) {
    segment.start = start;
    bytes.set(fetchRun(slots, segment), start);
    start += segment.to - segment.from;
  }
  return bytes;
}

function fetchRun(slots: Uint8Array, run: Run): Uint8Array {
  // The bindings hand out plain memory, never a SharedArrayBuffer; their type does not show it.
  return duckdb.get_data_from_pointer(slots.buffer as ArrayBuffer, slots.byteOffset + run.slot + 8, run.to - run.from);
}

function indexOf(segments: readonly Run[], address: number): number {
  return segments.findIndex((segment) => address >= segment.from && address < segment.to);
}

/** Binary search among segments in ascending order. */
function search(segments: readonly Run[], address: number): number {
  let low = 0;
  let high = segments.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((segments[middle]?.from ?? 0) <= address) low = middle;
    else high = middle - 1;
  }
  return low;
}
