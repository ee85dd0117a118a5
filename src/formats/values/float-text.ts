import type { ColumnType } from "../../result/column.ts";
import { FLOAT_WIDTH, writeDouble, writeSingle } from "../../result/text/float.ts";
import type { FixedWriter } from "./writer.ts";

/** What a format makes of NaN and the infinities, in at most `FLOAT_WIDTH` bytes. */
export type PutNotFinite = (out: DataView, at: number, value: number) => number;

export function floatText(type: Extract<ColumnType, { kind: "float" }>, putNotFinite: PutNotFinite): FixedWriter {
  if (type.bits === 32) {
    return {
      kind: "fixed",
      bytes: 4,
      width: FLOAT_WIDTH,
      put(out, at, data, offset) {
        const value = data.getFloat32(offset, true);
        return Number.isFinite(value) ? writeSingle(out, at, value) : putNotFinite(out, at, value);
      },
    };
  }
  return {
    kind: "fixed",
    bytes: 8,
    width: FLOAT_WIDTH,
    put(out, at, data, offset) {
      const value = data.getFloat64(offset, true);
      return Number.isFinite(value) ? writeDouble(out, at, value) : putNotFinite(out, at, value);
    },
  };
}
