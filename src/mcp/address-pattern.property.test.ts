import fc from "fast-check";
import { expect, test } from "vitest";
import { cpuMs } from "../../test/cpu-time.ts";
import { addressPattern } from "./address-pattern.ts";

const text = (unit: fc.Arbitrary<string>, minLength: number) => fc.string({ unit, minLength, maxLength: 4 });
const few = fc.constantFrom("a", "-", "/");

/** Two placeholders are never adjacent. */
const written = fc
  .tuple(text(few, 0), fc.array(text(few, 1), { maxLength: 3 }), text(few, 0))
  .map(([first, between, last]) => [first, ...between, last]);

test("finds the same values as a regular expression", () => {
  const address = fc.string({ unit: few, maxLength: 12 });
  fc.assert(
    fc.property(written, address, (around, candidate) => {
      const expression = new RegExp(`^${around.join("([^/]+)")}$`);
      const values = expression.exec(candidate)?.slice(1);
      expect(addressPattern(around)(candidate)).toEqual(values);
    }),
    { numRuns: 5_000 },
  );
});

test("a URI built from the pattern matches it", () => {
  const value = text(fc.constantFrom("a", "-", "b"), 1);
  fc.assert(
    fc.property(written, fc.array(value, { minLength: 4, maxLength: 4 }), (around, values) => {
      const address = around.map((part, index) => (index === 0 ? part : `${values[index - 1]}${part}`)).join("");
      expect(addressPattern(around)(address)).toBeDefined();
    }),
  );
});

test("a long URI that nearly matches is rejected quickly", async () => {
  const ms = await cpuMs(() => {
    expect(addressPattern(["x://", "-", "-", ""])(`x://${"-".repeat(1 << 20)}/`)).toBeUndefined();
    expect(addressPattern(["x://", "a-", "a-", "b"])(`x://${"-a".repeat(1 << 20)}b`)).toBeDefined();
  });
  expect(ms).toBeLessThan(5_000);
});
