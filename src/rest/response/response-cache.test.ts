import { expect, test } from "vitest";
import type { Rows } from "../../engines/rows.ts";
import { openResponseCache, type ResponseCache } from "./response-cache.ts";
import type { WholeResponse } from "./whole-response.ts";

const responseOf = (size: number): WholeResponse => ({
  kind: "whole",
  headers: [],
  contentType: "application/json",
  body: [new Uint8Array(size)],
  size,
  tag: String(size),
  compressedBodies: undefined,
  cached: undefined,
});
const watching =
  (isUnchanged: () => boolean): Rows["watch"] =>
  () =>
    Promise.resolve({ version: "1", isUnchanged });
const current = watching(() => true);

/** Offers twice, as two requests would. */
async function offerTwice(cache: ResponseCache, key: string, response: WholeResponse, watch = current): Promise<void> {
  cache.offer(key, response.size, watch, () => response);
  cache.offer(key, response.size, watch, () => response);
  await watch();
}

test("a response is cached at its second request", async () => {
  const cache = openResponseCache();
  const response = responseOf(10);
  cache.offer("a", response.size, current, () => response);
  await current();
  expect(cache.find("a")).toBeUndefined();
  cache.offer("a", response.size, current, () => response);
  await current();
  expect(cache.find("a")).toBe(response);
  expect(cache.find("b")).toBeUndefined();
});

test("an entry whose data may have changed is removed for good", async () => {
  const cache = openResponseCache();
  let unchanged = true;
  await offerTwice(
    cache,
    "a",
    responseOf(10),
    watching(() => unchanged),
  );
  expect(cache.find("a")?.size).toBe(10);
  unchanged = false;
  expect(cache.find("a")).toBeUndefined();
  unchanged = true;
  expect(cache.find("a")).toBeUndefined();
});

test("a response is not cached if its data cannot be watched or has changed meanwhile", async () => {
  const cache = openResponseCache();
  await offerTwice(cache, "a", responseOf(10), () => Promise.resolve(undefined));
  await offerTwice(
    cache,
    "b",
    responseOf(10),
    watching(() => false),
  );
  expect(cache.find("a")).toBeUndefined();
  expect(cache.find("b")).toBeUndefined();
});

test("memory is bounded: evicts the least recently used, and skips large responses and long keys", async () => {
  const cache = openResponseCache(10_000);
  for (const key of ["a", "b", "c"]) await offerTwice(cache, key, responseOf(1000));
  expect(cache.find("a")?.size).toBe(1000);
  await offerTwice(cache, "d", responseOf(1000));
  expect(["a", "b", "c", "d"].map((key) => cache.find(key) !== undefined)).toEqual([true, false, true, true]);
  await offerTwice(cache, "large", responseOf(300 * 1024));
  expect(cache.find("large")).toBeUndefined();
  const long = "k".repeat(3000);
  await offerTwice(cache, long, responseOf(10));
  expect(cache.find(long)).toBeUndefined();
});
