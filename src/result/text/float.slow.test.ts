import fc from "fast-check";
import { expect, test } from "vitest";
import { writeDouble, writeSingle } from "./float.ts";

const buffer = Buffer.alloc(64);
const out = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
const double = (value: number) => buffer.toString("latin1", 0, writeDouble(out, 0, value));
const single = (value: number) => buffer.toString("latin1", 0, writeSingle(out, 0, value));

const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
const everyday = fc
  .tuple(fc.integer(), fc.integer({ min: 0, max: 22 }), fc.double({ min: 0, max: 1, noNaN: true }))
  .map(([whole, places, part]) => (whole + part) / 10 ** places);
const fewDigits = fc
  .tuple(fc.integer(), fc.integer({ min: -20, max: 20 }))
  .map(([whole, places]) => Number(`${whole}e${places}`));

test.each([
  [0, "0"],
  [-0, "-0.0"],
  [1, "1"],
  [-1.5, "-1.5"],
  [0.1, "0.1"],
  [0.3, "0.3"],
  [0.1 + 0.2, "0.30000000000000004"],
  [0.000001, "0.000001"],
  [1e-7, "1e-7"],
  [123456789.125, "123456789.125"],
  [2 ** 53, "9007199254740992"],
  [999999999999999.9, "999999999999999.9"],
  [99999999.99999999, "99999999.99999999"],
  [0.9999999999999999, "0.9999999999999999"],
  [1e21, "1e+21"],
  [Number.MAX_VALUE, "1.7976931348623157e+308"],
  [Number.MIN_VALUE, "5e-324"],
])("double %d is %s", (value, expected) => {
  expect(double(value)).toBe(expected);
});

test("any double is what JavaScript prints", () => {
  fc.assert(
    fc.property(fc.oneof(finite, everyday, fewDigits), (value) => {
      const text = double(value);
      // Most are right: to compare them first saves the cost of an assertion.
      if (text !== String(value) && !Object.is(value, -0)) expect(text).toBe(String(value));
    }),
    { numRuns: 30_000 },
  );
});

test("powers of two and ten and their neighbours are what JavaScript prints", () => {
  const step = new BigInt64Array(1);
  const value = new Float64Array(step.buffer);
  for (let exponent = -40; exponent < 70; exponent++) {
    for (const base of [2 ** exponent, Number(`1e${exponent}`)]) {
      for (const distance of [-2n, -1n, 0n, 1n, 2n]) {
        value[0] = base;
        step[0] = (step[0] ?? 0n) + distance;
        expect(double(value[0])).toBe(String(value[0]));
      }
    }
  }
});

test.each([
  [0.1, "0.1"],
  [16777216, "16777216"],
  [3.4028234663852886e38, "3.4028235e+38"],
  [1.401298464324817e-45, "1e-45"],
  [-0, "-0.0"],
])("single %d is %s", (value, expected) => {
  expect(single(Math.fround(value))).toBe(expected);
});

test("any single is the shortest decimal that reads back", () => {
  fc.assert(
    fc.property(fc.oneof(fc.float({ noNaN: true, noDefaultInfinity: true }), everyday.map(Math.fround)), (value) => {
      const text = single(value);
      if (!Object.is(Math.fround(Number(text)), value)) expect(Math.fround(Number(text))).toBe(value);
      const digits = text.replace(/e.*/, "").replace(/[-.]/g, "").replace(/^0+/, "").replace(/0+$/, "");
      const shorter = Math.fround(Number(value.toPrecision(Math.max(1, digits.length - 1))));
      if (digits.length > 1 && Object.is(shorter, value)) expect(shorter).not.toBe(value);
    }),
    { numRuns: 15_000 },
  );
});
