import { FLOAT_WIDTH, writeDouble, writeSingle } from "../../result/text/float.ts";
import type { FixedWriter } from "./writer.ts";

/** Writes NaN and infinities for a format, in at most `FLOAT_WIDTH` bytes. */
type PutNotFinite = (out: DataView, at: number, value: number) => number;

/** Writers for floats, by number of bits. */
export type FloatWriters = Readonly<Record<32 | 64, FixedWriter>>;

export function floatWriters(putNotFinite: PutNotFinite): FloatWriters {
  return {
    32: {
      kind: "fixed",
      bytes: 4,
      width: FLOAT_WIDTH,
      put(out, at, data, offset) {
        const value = data.getFloat32(offset, true);
        return Number.isFinite(value) ? writeSingle(out, at, value) : putNotFinite(out, at, value);
      },
    },
    64: {
      kind: "fixed",
      bytes: 8,
      width: FLOAT_WIDTH,
      put(out, at, data, offset) {
        const value = data.getFloat64(offset, true);
        return Number.isFinite(value) ? writeDouble(out, at, value) : putNotFinite(out, at, value);
      },
    },
  };
}
