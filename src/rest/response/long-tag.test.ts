import fc from "fast-check";
import { expect, test } from "vitest";
import { openLongTag } from "./long-tag.ts";

async function longTag(pieces: readonly Uint8Array[]): Promise<string> {
  const tag = openLongTag();
  for (const piece of pieces) await tag.add(piece);
  return tag.end();
}

test("the same bytes have the same tag; changed, swapped or truncated bytes have another", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 2, maxLength: 200 }), fc.nat(), fc.nat(), async (bytes, one, other) => {
      const tag = await longTag([bytes]);
      expect(await longTag([bytes.slice()])).toBe(tag);
      expect(tag).toMatch(/^[\w-]+$/);
      const changed = bytes.slice();
      const [from, to] = [one % bytes.length, other % bytes.length];
      changed[from] = (changed[from] ?? 0) ^ 0x80;
      expect(await longTag([changed])).not.toBe(tag);
      // Two changes of the same bit cancel each other out in a weaker sum.
      changed[to] = (changed[to] ?? 0) ^ 0x80;
      expect((await longTag([changed])) === tag).toBe(from === to);
      expect(await longTag([bytes.subarray(1)])).not.toBe(tag);
      expect(await longTag([Buffer.concat([bytes, Buffer.alloc(1)])])).not.toBe(tag);
    }),
    { numRuns: 2000 },
  );
});

test("a change of one value anywhere in a long body changes the tag", async () => {
  const body = Buffer.alloc(1_000_000, "0123456789abcdef");
  const tags = new Set([await longTag([body])]);
  for (let at = 0; at < body.length; at += 9_973) {
    const changed = Buffer.from(body);
    changed[at] = (changed[at] ?? 0) ^ 1;
    tags.add(await longTag([changed]));
  }
  expect(tags.size).toBe(1 + Math.ceil(body.length / 9_973));
});
