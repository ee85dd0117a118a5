import fc from "fast-check";
import { expect, test } from "vitest";
import { mostRecent, openRecency, type Used } from "./recency.ts";

interface Item extends Used {
  readonly name: string;
}

const item = (name: string, lastUse = 0): Item => ({ name, lastUse, placedUse: 0 });
const names = (items: Iterable<Item>): string => [...items].map(({ name }) => name).join("");

test("what was used least recently comes first; a touch is seen when it matters", () => {
  const recency = openRecency<Item>();
  const [a, b, c, d] = [item("a"), item("b"), item("c"), item("d")];
  for (const each of [a, b, c]) recency.use(each);
  recency.use(a);
  expect(names(recency.oldestFirst())).toBe("bca");
  recency.touch(b);
  expect(names(recency.oldestFirst())).toBe("cab");
  recency.keep(d);
  recency.keep(a);
  expect(names(recency.oldestFirst())).toBe("cabd");
  const seen: string[] = [];
  for (const each of recency.oldestFirst()) {
    seen.push(each.name);
    recency.remove(each);
  }
  expect(seen.join("")).toBe("cabd");
  expect(names(recency.oldestFirst())).toBe("");
});

test("the most recent ones are those of a sorted list", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.nat({ max: 500 }), { maxLength: 60 }),
      fc.integer({ min: 1, max: 20 }),
      (uses, count) => {
        const isWanted = ({ lastUse }: Used): boolean => lastUse % 3 !== 0;
        const found = mostRecent(
          uses.map((use) => item("", use)),
          count,
          isWanted,
        );
        const expected = uses.filter((use) => use % 3 !== 0).sort((one, other) => other - one);
        expect(found.map(({ lastUse }) => lastUse)).toEqual(expected.slice(0, count));
      },
    ),
  );
});
