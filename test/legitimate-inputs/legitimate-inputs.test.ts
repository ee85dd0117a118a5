import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Arena, openArena } from "../attacks/arena.ts";
import { tryNames } from "../attacks/mcp-names.ts";
import { inPairs, missingPairs } from "../attacks/pairs.ts";
import { everyText, honestTexts } from "../attacks/texts.ts";
import {
  arrived,
  brieflyEchoed,
  echoed,
  inParallel,
  type Judge,
  patiently,
  readBySomebodyElse,
  volley,
} from "../attacks/volley.ts";

const texts = everyText(honestTexts);

let arena: Arena;

beforeAll(async () => {
  arena = await openArena();
});
afterAll(() => arena?.[Symbol.asyncDispose]());

test("the collection is large, and every text is there once", () => {
  expect(new Set(texts).size).toBe(texts.length);
  expect(texts.length).toBeGreaterThanOrEqual(300);
  expect(Object.keys(honestTexts).length).toBeGreaterThanOrEqual(25);
});

const judges: Readonly<Record<string, Judge>> = {
  none: arrived(echoed),
  string: arrived(brieflyEchoed),
  bounded: arrived(brieflyEchoed),
  unscanned: arrived(brieflyEchoed),
  paged: arrived(brieflyEchoed),
  write: arrived((text) => ({ bare: text, part: `<${text}>` })),
  wrapped: arrived(readBySomebodyElse),
};

// A template that hands text to another parser without `sql_literal` refuses apostrophes, and `check` warns of it.
const names = Object.keys(judges);
const shots = inPairs(texts, { names, arriving: names });

test("every text comes to every target and from every sender, and every target has all its senders", () => {
  expect(missingPairs(texts, shots, names)).toEqual([]);
});

describe("honest text is never refused, and comes back as it was sent", () => {
  test.each([...shots])("%s", async (name, toTarget) => {
    expect(await volley(arena, toTarget, judges[name] as Judge)).toEqual([]);
  });

  test("prompts say it, and where it is the name of nothing that is what one is told", async () => {
    const wrong: string[] = [];
    await inParallel(texts, async (text) => {
      wrong.push(...(await tryNames(arena.urls.mcp, text)));
    });
    expect(wrong).toEqual([]);
  });

  test("addresses are e-mail", async () => {
    const wrong: string[] = [];
    for (const address of honestTexts["e-mail"] ?? []) {
      const answer = await patiently(() => arena.service.get(`/query/narrow?an_email=${encodeURIComponent(address)}`));
      const rows = JSON.stringify(await answer.json());
      if (!rows.includes(`"an_email":${JSON.stringify(address)}`)) wrong.push(`${address}: ${rows}`);
    }
    expect(wrong).toEqual([]);
  });
});
