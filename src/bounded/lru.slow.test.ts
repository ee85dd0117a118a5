import fc from "fast-check";
import { expect, test } from "vitest";
import { measureMemory } from "../../test/heap.ts";
import { openLru } from "./lru.ts";

test("the entry that was used longest ago goes first, keys count, and dropped values are reported", () => {
  const dropped: string[] = [];
  const lru = openLru<string>({
    maxBytes: 10_000,
    maxEntryBytes: 10_000,
    bytesOf: ({ length }) => length,
    onRemove: (value) => dropped.push(value),
  });
  lru.set("a".repeat(1000), "first");
  lru.set("b".repeat(1000), "second");
  lru.set("c".repeat(1000), "third");
  expect(lru.get("a".repeat(1000))).toBe("first");
  lru.set("d".repeat(2000), "fourth");
  expect(dropped).toEqual(["second"]);
  lru.set("d".repeat(2000), "fifth");
  expect(dropped).toEqual(["second", "fourth"]);
  lru.delete("c".repeat(1000));
  lru.deleteWhere((key) => key.startsWith("a"));
  lru.clear();
  expect(dropped).toEqual(["second", "fourth", "third", "first", "fifth"]);
  expect(lru.bytes()).toBe(0);
});

test("an entry that is too large on its own is not kept, and evicts nothing", () => {
  const lru = openLru<number>({ maxBytes: 10_000, bytesOf: (bytes) => bytes });
  lru.set("small", 100);
  lru.set("large", 2_000);
  lru.set("x".repeat(1_000), 1);
  expect([lru.get("small"), lru.get("large"), lru.get("x".repeat(1_000))]).toEqual([100, undefined, undefined]);
  // Nor is the value kept that it would have replaced.
  lru.set("small", 2_000);
  expect(lru.get("small")).toBeUndefined();
});

test("whatever is done, the bytes are those of its entries and within the bound", () => {
  const step = fc.record({
    key: fc.constantFrom("a", "b".repeat(50), "c".repeat(300), "d".repeat(900)),
    value: fc.integer({ min: 0, max: 3000 }),
    kind: fc.constantFrom("set", "get", "delete"),
  });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const lru = openLru<number>({ maxBytes: 5_000, maxEntryBytes: 4_000, bytesOf: (bytes) => bytes });
      const model = new Map<string, number>();
      for (const { key, value, kind } of steps) {
        if (kind === "set") {
          lru.set(key, value);
          model.set(key, value);
        } else if (kind === "get") {
          const found = lru.get(key);
          if (found !== undefined) expect(found).toBe(model.get(key));
        } else lru.delete(key);
        expect(lru.bytes()).toBeLessThanOrEqual(5_000);
      }
      lru.clear();
      expect(lru.bytes()).toBe(0);
    }),
  );
});

test("a short key that was cut from a long text does not keep that text", async () => {
  const lru = openLru<number>({ maxBytes: 1_000_000 });
  const before = await measureMemory();
  for (let index = 0; index < 50; index++) {
    const body = Buffer.alloc(1_000_000, 97 + (index % 20)).toString();
    const key = (): string => `SELECT ${index} ${body.slice(100, 140)}`;
    lru.set(key(), index);
    expect(lru.get(key())).toBe(index);
    lru.set(key(), -index);
  }
  expect((await measureMemory()) - before).toBeLessThan(5_000_000);
  expect(lru.bytes()).toBeGreaterThan(0);
});
