export const UUID_WIDTH = 36;

const HEX_PAIRS = new Uint16Array(256).map((_, byte) =>
  Buffer.from(byte.toString(16).padStart(2, "0")).readUInt16LE(0),
);
const DASH = 45;

/** Writes the 16 bytes at `offset` of `data`, which are in the order of the text. */
export function writeUuid(out: DataView, at: number, data: DataView, offset: number): number {
  let end = at;
  for (let index = 0; index < 16; index++) {
    if (index === 4 || index === 6 || index === 8 || index === 10) {
      out.setUint8(end, DASH);
      end += 1;
    }
    out.setUint16(end, HEX_PAIRS[data.getUint8(offset + index)] ?? 0, true);
    end += 2;
  }
  return end;
}
