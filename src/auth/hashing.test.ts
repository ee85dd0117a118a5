import { expect, test } from "vitest";
import { openHashing } from "./hashing.ts";

/** Work that ends when it is told to. */
function heldWork(): { readonly work: () => Promise<string>; readonly begun: string[]; end(name: string): void } {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  let count = 0;
  return {
    begun,
    work: () => {
      const name = String(++count);
      begun.push(name);
      return new Promise((resolve) => ends.set(name, () => resolve(name)));
    },
    end: (name) => ends.get(name)?.(),
  };
}

test("few at a time, the others in turn, and too many are turned away", async () => {
  const hashing = openHashing({ concurrency: 2, maxWaiting: 2 });
  const { work, begun, end } = heldWork();
  const results = [1, 2, 3, 4, 5].map(() => hashing.run(work));
  expect(results[4]).toBeUndefined();
  await Promise.resolve();
  expect(begun).toEqual(["1", "2"]);
  end("2");
  expect(await results[1]).toBe("2");
  // A place in the queue is free again, none at work.
  results.push(hashing.run(work));
  expect(hashing.run(work)).toBeUndefined();
  for (const [index, name] of [
    [0, "1"],
    [2, "3"],
    [3, "4"],
    [5, "5"],
  ] as const) {
    end(name);
    expect(await results[index]).toBe(name);
  }
  expect(begun).toEqual(["1", "2", "3", "4", "5"]);
});

test("work that fails gives its place back", async () => {
  const hashing = openHashing({ concurrency: 1, maxWaiting: 0 });
  for (let count = 0; count < 3; count++) {
    const failed = hashing.run(() => Promise.reject(new Error("no")));
    await expect(failed).rejects.toThrow("no");
  }
  expect(await hashing.run(async () => "yes")).toBe("yes");
});

test("the limits that nobody gave: 2 at a time, 64 wait", () => {
  const hashing = openHashing();
  const { work } = heldWork();
  const taken = Array.from({ length: 70 }, () => hashing.run(work)).filter((run) => run !== undefined);
  expect(taken).toHaveLength(66);
});
