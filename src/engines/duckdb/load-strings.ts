import duckdb from "@duckdb/node-bindings";
import type { Validity, Vector } from "../../result/chunk.ts";
import { isValid } from "../../result/chunk.ts";
import { zeros } from "./load-slab.ts";

type BytesVector = Extract<Vector, { layout: "bytes" }>;

/** A string is a slot of 16 bytes: length (4), then up to 12 bytes of text, or a prefix (4) and a pointer (8). */
const SLOT = 16;
const INLINE = 12;

/**
 * Two strings are fetched with one native call only when fewer bytes than this lie between them: both ends of the gap
 * are then on mapped pages. A larger gap may span a hole in the address space, and reading that ends the process.
 */
const MAX_GAP = 4096;

/** A native call costs about as much as copying this many bytes, so more runs than this are worth sorting. */
const MAX_UNSORTED_RUNS = 16;

/** Copies the strings of a vector: its slots, and each run of neighbouring long strings with one native call. */
export function loadStrings(vector: duckdb.Vector, rows: number, validity: Validity): BytesVector {
  const slots = duckdb.vector_get_data(vector, rows * SLOT);
  const view = new DataView(slots.buffer, slots.byteOffset, slots.byteLength);
  const starts = zeros(rows);
  const lengths = zeros(rows);
  const runs: Run[] = [];
  let run: Run | undefined;
  let inline = false;
  for (let row = 0; row < rows; row++) {
    // An invalid slot holds garbage: neither its length nor its pointer may be looked at.
    if (!isValid(validity, row)) continue;
    const slot = row * SLOT;
    const length = view.getUint32(slot, true);
    lengths[row] = length;
    if (length <= INLINE) {
      starts[row] = slot + 4;
      inline = true;
      continue;
    }
    const address = addressAt(view, slot);
    if (run === undefined || !joins(run, address, length)) {
      run = { from: address, to: address + length, slot, start: 0 };
      runs.push(run);
      continue;
    }
    if (address < run.from) {
      run.from = address;
      run.slot = slot;
    }
    if (address + length > run.to) run.to = address + length;
  }
  if (runs.length === 0) return { layout: "bytes", validity, starts, lengths, bytes: slots };
  const segments = runs.length > MAX_UNSORTED_RUNS ? merged(runs) : runs;
  const bytes = fetched(segments, slots, inline);
  let index = 0;
  for (let row = 0; row < rows; row++) {
    if ((lengths[row] ?? 0) <= INLINE) continue;
    const address = addressAt(view, row * SLOT);
    let segment = segments[index];
    if (segment === undefined || address < segment.from || address >= segment.to) {
      index = segments === runs ? indexOf(segments, address) : search(segments, address);
      segment = segments[index];
    }
    if (segment !== undefined) starts[row] = segment.start + (address - segment.from);
  }
  return { layout: "bytes", validity, starts, lengths, bytes };
}

function addressAt(view: DataView, slot: number): number {
  return view.getUint32(slot + 12, true) * 0x1_0000_0000 + view.getUint32(slot + 8, true);
}

/** Neighbouring strings: addresses `from` to `to`, the slot that points at `from`, and where they stand in the copy. */
interface Run {
  from: number;
  to: number;
  slot: number;
  start: number;
}

function joins(run: Run, address: number, length: number): boolean {
  return address >= run.from ? address - run.to < MAX_GAP : run.from - (address + length) < MAX_GAP;
}

function merged(runs: readonly Run[]): readonly Run[] {
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

function fetched(segments: readonly Run[], slots: Uint8Array, inline: boolean): Uint8Array {
  const [only] = segments;
  if (segments.length === 1 && only !== undefined && !inline) return fetchRun(slots, only);
  let size = inline ? slots.length : 0;
  for (const segment of segments) size += segment.to - segment.from;
  const bytes = Buffer.allocUnsafeSlow(size);
  let start = 0;
  if (inline) {
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
  // The bindings hand out plain memory, never a SharedArrayBuffer; their type does not say so.
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
