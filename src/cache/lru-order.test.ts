import fc from "fast-check";
import { expect, test } from "vitest";
import { type LruItem, mostRecentlyUsed, openLruOrder } from "./lru-order.ts";

interface Item extends LruItem {
  readonly name: string;
}

const item = (name: string, lastUse = 0): Item => ({ name, lastUse, placedUse: 0 });
const names = (items: Iterable<Item>): string => [...items].map(({ name }) => name).join("");

test("what was used least recently comes first; a touch is seen when it matters", () => {
  const order = openLruOrder<Item>();
  const [a, b, c, d] = [item("a"), item("b"), item("c"), item("d")];
  for (const each of [a, b, c]) order.use(each);
  order.use(a);
  expect(names(order.oldestFirst())).toBe("bca");
  order.touch(b);
  expect(names(order.oldestFirst())).toBe("cab");
  order.add(d);
  order.add(a);
  expect(names(order.oldestFirst())).toBe("cabd");
  const seen: string[] = [];
  for (const each of order.oldestFirst()) {
    seen.push(each.name);
    order.remove(each);
  }
  expect(seen.join("")).toBe("cabd");
  expect(names(order.oldestFirst())).toBe("");
});

test("the most recent ones are those of a sorted list", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.nat({ max: 500 }), { maxLength: 60 }),
      fc.integer({ min: 1, max: 20 }),
      (uses, count) => {
        const isWanted = ({ lastUse }: LruItem): boolean => lastUse % 3 !== 0;
        const found = mostRecentlyUsed(
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
