import type { Validity, Vector } from "../../../result/chunk.ts";

/** Collects the values of one column. */
export interface Builder {
  /** Adds the value in `bytes` from `start`, of `length` bytes. */
  add(bytes: Buffer, start: number, length: number): void;
  addNull(): void;
  /** The vector of all rows so far. The builder is empty afterwards. */
  take(): Vector;
  /** The memory of the rows so far, about. */
  bytes(): number;
}

/** Writes one value of a fixed size. `to` is zero from `at` on. */
export type PutFixed = (to: DataView, at: number, bytes: Buffer, start: number, length: number) => void;

const FIRST_ROWS = 16;

/** Which rows are not NULL. */
function openValidity() {
  let bits: Uint8Array | undefined;
  return {
    setNull(row: number): void {
      if (bits === undefined || row >> 3 >= bits.length) {
        const larger = new Uint8Array(Math.max(64, ((row >> 6) + 1) * 16)).fill(0xff);
        if (bits !== undefined) larger.set(bits);
        bits = larger;
      }
      bits[row >> 3] = (bits[row >> 3] ?? 0) & ~(1 << (row & 7));
    },
    take(rows: number): Validity {
      const found = bits;
      bits = undefined;
      if (found === undefined) return undefined;
      const wanted = Math.ceil(rows / 64) * 8;
      const whole = new Uint8Array(wanted).fill(0xff);
      whole.set(found.subarray(0, wanted));
      return whole;
    },
  };
}

export function fixedBuilder(width: number, put: PutFixed): Builder {
  let data = new Uint8Array(width * FIRST_ROWS);
  let view = new DataView(data.buffer);
  let rows = 0;
  const validity = openValidity();

  function nextRow(): number {
    const at = rows++ * width;
    if (at + width <= data.length) return at;
    const larger = new Uint8Array(data.length * 4);
    larger.set(data);
    data = larger;
    view = new DataView(data.buffer);
    return at;
  }

  return {
    add(bytes, start, length) {
      // First: it may replace the view.
      const at = nextRow();
      put(view, at, bytes, start, length);
    },
    addNull() {
      nextRow();
      validity.setNull(rows - 1);
    },
    take() {
      const vector: Vector = { layout: "fixed", validity: validity.take(rows), data: data.subarray(0, rows * width) };
      data = new Uint8Array(data.length);
      view = new DataView(data.buffer);
      rows = 0;
      return vector;
    },
    bytes: () => rows * width,
  };
}

/** `skip`: bytes before each value that do not belong to it. */
export function bytesBuilder(skip = 0): Builder {
  const texts = openBytes();
  return {
    add: (bytes, start, length) => texts.copy(bytes, start + skip, length - skip),
    addNull: texts.addNull,
    take: texts.take,
    bytes: texts.bytes,
  };
}

/** For values that are converted to text. */
export function convertingBuilder(convert: (bytes: Buffer, start: number, length: number) => string): Builder {
  const texts = openBytes();
  return {
    add(bytes, start, length) {
      const text = Buffer.from(convert(bytes, start, length));
      texts.copy(text, 0, text.length);
    },
    addNull: texts.addNull,
    take: texts.take,
    bytes: texts.bytes,
  };
}

function openBytes() {
  let data = Buffer.allocUnsafe(FIRST_ROWS * 16);
  let starts = new Uint32Array(FIRST_ROWS);
  let lengths = new Uint32Array(FIRST_ROWS);
  let rows = 0;
  let used = 0;
  const validity = openValidity();

  function nextRow(length: number): void {
    if (rows === starts.length) {
      starts = grown(starts);
      lengths = grown(lengths);
    }
    starts[rows] = used;
    lengths[rows] = length;
    rows++;
  }

  return {
    copy(bytes: Buffer, start: number, length: number): void {
      nextRow(length);
      if (used + length > data.length) {
        const larger = Buffer.allocUnsafe(Math.max(used + length, data.length * 4));
        data.copy(larger, 0, 0, used);
        data = larger;
      }
      bytes.copy(data, used, start, start + length);
      used += length;
    },
    addNull(): void {
      nextRow(0);
      validity.setNull(rows - 1);
    },
    take(): Vector {
      const vector: Vector = {
        layout: "bytes",
        validity: validity.take(rows),
        starts: starts.subarray(0, rows),
        lengths: lengths.subarray(0, rows),
        bytes: data.subarray(0, used),
        packed: true,
      };
      data = Buffer.allocUnsafe(Math.min(data.length, 1 << 20));
      starts = new Uint32Array(starts.length);
      lengths = new Uint32Array(lengths.length);
      rows = 0;
      used = 0;
      return vector;
    },
    bytes: () => used + rows * 8,
  };
}

function grown(numbers: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(numbers.length * 4);
  larger.set(numbers);
  return larger;
}

/** An array in binary form: dimensions, whether there are NULLs, the type of its items, each dimension, then the items. */
export function listBuilder(openItem: () => Builder): Builder {
  let starts: number[] = [];
  let lengths: number[] = [];
  let items = openItem();
  let childRows = 0;
  const validity = openValidity();

  return {
    add(bytes, start) {
      const dimensions = bytes.readInt32BE(start);
      if (dimensions > 1)
        throw new Error(`an array of ${dimensions} dimensions cannot be returned; return to_jsonb(...) of it`);
      const length = dimensions === 0 ? 0 : bytes.readInt32BE(start + 12);
      starts.push(childRows);
      lengths.push(length);
      childRows += length;
      let at = start + 20;
      for (let i = 0; i < length; i++) {
        const size = bytes.readInt32BE(at);
        at += 4;
        if (size < 0) items.addNull();
        else {
          items.add(bytes, at, size);
          at += size;
        }
      }
    },
    addNull() {
      validity.setNull(starts.length);
      starts.push(childRows);
      lengths.push(0);
    },
    take() {
      const vector: Vector = {
        layout: "list",
        validity: validity.take(starts.length),
        starts: Uint32Array.from(starts),
        lengths: Uint32Array.from(lengths),
        child: items.take(),
        childRows,
      };
      starts = [];
      lengths = [];
      items = openItem();
      childRows = 0;
      return vector;
    },
    bytes: () => items.bytes() + starts.length * 8,
  };
}
