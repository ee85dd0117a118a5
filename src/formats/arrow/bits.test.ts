import fc from "fast-check";
import { expect, test } from "vitest";
import { countOnes, putBits } from "./bits.ts";

const ranges = fc.array(
  fc.record({
    bits: fc.option(fc.uint8Array({ minLength: 12, maxLength: 12 }), { nil: undefined }),
    from: fc.nat({ max: 40 }),
    count: fc.nat({ max: 56 }),
  }),
  { maxLength: 6 },
);

test("bits from anywhere stand one behind the other, and zeros behind them", () => {
  fc.assert(
    fc.property(ranges, (parts) => {
      const expected = parts.flatMap(({ bits, from, count }) =>
        Array.from({ length: count }, (_, index) => bitAt(bits, from + index)),
      );
      // Memory that is not fresh.
      const out = new Uint8Array(Math.ceil(expected.length / 8)).fill(0xaa);
      let at = 0;
      for (const part of parts) {
        putBits(out, at, part);
        at += part.count;
      }
      const padded = Array.from({ length: out.length * 8 }, (_, index) => expected[index] ?? 0);
      expect(Array.from(padded, (_, index) => bitAt(out, index))).toEqual(padded);
      expect(countOnes(out)).toBe(expected.filter((bit) => bit === 1).length);
    }),
    { numRuns: 1000 },
  );
});

function bitAt(bits: Uint8Array | undefined, index: number): number {
  return bits === undefined ? 1 : ((bits[index >> 3] ?? 0) >> (index & 7)) & 1;
}
