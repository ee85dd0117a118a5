import { expect, test } from "vitest";
import type { Rows } from "../../engines/rows.ts";
import { openResponseCache, type ResponseCache } from "./response-cache.ts";
import type { WholeResponse } from "./whole-response.ts";

const answerOf = (size: number): WholeResponse => ({
  kind: "whole",
  headers: [],
  contentType: "application/json",
  body: [new Uint8Array(size)],
  size,
  tag: String(size),
  packed: undefined,
  cached: undefined,
});
const current: Rows["watch"] = () => Promise.resolve(() => true);

/** Offers twice, as two requests would. */
async function offerTwice(answers: ResponseCache, key: string, answer: WholeResponse, watch = current): Promise<void> {
  answers.offer(key, answer, watch);
  answers.offer(key, answer, watch);
  await watch();
}

test("an answer is kept when it is asked for a second time", async () => {
  const answers = openResponseCache();
  const answer = answerOf(10);
  answers.offer("a", answer, current);
  await current();
  expect(answers.find("a")).toBeUndefined();
  answers.offer("a", answer, current);
  await current();
  expect(answers.find("a")).toBe(answer);
  expect(answers.find("b")).toBeUndefined();
});

test("what may have changed is forgotten for good", async () => {
  const answers = openResponseCache();
  let unchanged = true;
  await offerTwice(answers, "a", answerOf(10), () => Promise.resolve(() => unchanged));
  expect(answers.find("a")?.size).toBe(10);
  unchanged = false;
  expect(answers.find("a")).toBeUndefined();
  unchanged = true;
  expect(answers.find("a")).toBeUndefined();
});

test("what nobody can watch, or has changed meanwhile, is not kept", async () => {
  const answers = openResponseCache();
  await offerTwice(answers, "a", answerOf(10), () => Promise.resolve(undefined));
  await offerTwice(answers, "b", answerOf(10), () => Promise.resolve(() => false));
  expect(answers.find("a")).toBeUndefined();
  expect(answers.find("b")).toBeUndefined();
});

test("memory is bounded: what was used longest ago goes first, and large answers and keys never come in", async () => {
  const answers = openResponseCache(10_000);
  for (const key of ["a", "b", "c"]) await offerTwice(answers, key, answerOf(1000));
  expect(answers.find("a")?.size).toBe(1000);
  await offerTwice(answers, "d", answerOf(1000));
  expect(["a", "b", "c", "d"].map((key) => answers.find(key) !== undefined)).toEqual([true, false, true, true]);
  await offerTwice(answers, "large", answerOf(300 * 1024));
  expect(answers.find("large")).toBeUndefined();
  const long = "k".repeat(3000);
  await offerTwice(answers, long, answerOf(10));
  expect(answers.find(long)).toBeUndefined();
});
