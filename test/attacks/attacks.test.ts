import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endpoint, serviceFrom } from "../service.ts";
import { type Arena, openArena, targetsOf } from "./arena.ts";
import { tryNames } from "./mcp-names.ts";
import { inPairs, missingPairs } from "./pairs.ts";
import type { narrowValidators } from "./places.ts";
import type { Target } from "./sender.ts";
import { senders } from "./senders.ts";
import { attacks, everyText, refusedClasses } from "./texts.ts";
import {
  arrived,
  arrivedOrRefused,
  brieflyEchoed,
  echoed,
  INJECTION,
  inParallel,
  isRefusal,
  type Judge,
  patiently,
  readBySomebodyElse,
  volley,
} from "./volley.ts";

const texts = everyText(attacks);

let arena: Arena;
let before: unknown;

beforeAll(async () => {
  arena = await openArena();
  before = await arena.state();
});
afterAll(() => arena?.[Symbol.asyncDispose]());

test("the collection is large, and every text is there once", () => {
  expect(new Set(texts).size).toBe(texts.length);
  expect(texts.length).toBeGreaterThanOrEqual(150);
  expect(Object.values(attacks).filter((list) => list.length < 5)).toEqual([]);
});

/** What the types that carry no SQL let through, said once more in the simplest way. */
const narrowForms: Readonly<Record<keyof typeof narrowValidators, RegExp>> = {
  an_int: /^[+-]?\d{1,19}$/,
  a_number: /^[+-]?[\d.]+(?:[eE][+-]?\d+)?$/,
  a_boolean: /^(?:true|false)$/i,
  a_date: /^\d{4}-\d\d-\d\d$/,
  a_time: /^[\d:.]+$/,
  a_uuid: /^[0-9a-fA-F-]{36}$/,
  an_email: /^[^@\s]+@[^@\s]+$/,
  an_enum: /^(?:name|id)$/,
  a_word: /^[a-z]{1,8}$/,
};

/** Refused in every field whose form the text does not have. */
const narrow: Judge = (outcome, text) => {
  if (outcome.kind !== "refused") return JSON.stringify(outcome);
  const refused = new Set(outcome.errors.map(({ field }) => field));
  const missed = Object.entries(narrowForms).filter(([field, form]) => !form.test(text) && !refused.has(field));
  return missed.length === 0 ? undefined : `${missed.map(([field]) => field)} let it through`;
};

/** Quotes, backslashes and the like end there; what passes is seen as text. */
const unwrapped: Judge = (outcome, text) => {
  if (isRefusal(outcome, INJECTION)) return /['"`\\;\0]|--|\/\*/.test(text) ? undefined : "refused without a reason";
  return arrived((value) => ({ v: value }))(outcome, text);
};

/** SQL text ends at a NUL, so that no quoting can bring it to another parser. */
const wrapped: Judge = (outcome, text) =>
  text.includes("\0")
    ? isRefusal(outcome, INJECTION)
      ? undefined
      : JSON.stringify(outcome)
    : arrived(readBySomebodyElse)(outcome, text);

const judges: Readonly<Record<string, Judge>> = {
  none: arrived(echoed),
  string: arrivedOrRefused(brieflyEchoed),
  bounded: arrivedOrRefused(brieflyEchoed),
  unscanned: arrived(brieflyEchoed),
  paged: arrived(brieflyEchoed),
  cached: arrived(brieflyEchoed),
  write: arrived((text) => ({ bare: text, part: `<${text}>` })),
  wrapped,
  unwrapped,
  narrow,
};

/** What no text is refused by, so that it shows what a sender brought. */
const arriving = ["none", "unscanned", "paged", "cached", "write"];
const shots = inPairs(texts, { names: Object.keys(judges), arriving });

test("every text comes to every target and from every sender, and every target has all its senders", () => {
  expect(missingPairs(texts, shots, arriving)).toEqual([]);
});

describe("attacks are inert", () => {
  test.each([...shots])("%s", async (name, toTarget) => {
    expect(await volley(arena, toTarget, judges[name] as Judge)).toEqual([]);
    // What was written by our own endpoint is no trace of an attack.
    expect(await arena.state()).toEqual(before);
    expect(arena.unexpected()).toEqual([]);
  });

  test("what was written is there, unchanged, once for each time that it was sent", async () => {
    const written = (shots.get("write") ?? []).map(({ text }) => arena.aim(text));
    const sorted = (rows: readonly unknown[]): readonly string[] => rows.map((row) => JSON.stringify(row)).sort();
    expect(sorted(await arena.notes())).toEqual(sorted(written.map((text) => ({ bare: text, part: `<${text}>` }))));
  });

  test("an attack that is the name of a parameter sets nothing", async () => {
    const wrong: string[] = [];
    await inParallel(texts, async (text) => {
      const name = encodeURIComponent(arena.aim(text));
      const answer = await patiently(() => arena.service.get(`/query/unscanned?${name}=${name}&v=x`));
      const rows = answer.status === 200 ? await answer.json() : answer.status;
      if (JSON.stringify(rows) !== JSON.stringify([brieflyEchoed("x")])) wrong.push(text);
    });
    expect(wrong).toEqual([]);
    expect(await arena.state()).toEqual(before);
  });

  test("an attack that an agent sends in a prompt, or in place of a name, does nothing", async () => {
    const wrong: string[] = [];
    await inParallel(texts, async (text) => {
      wrong.push(...(await tryNames(arena.urls.mcp, arena.aim(text))));
    });
    expect(wrong).toEqual([]);
    expect(await arena.state()).toEqual(before);
    expect(arena.unexpected()).toEqual([]);
  });
});

describe("the scan refuses what has the shape of an attack", () => {
  const [query] = senders;
  test.each(refusedClasses)("%s", async (name) => {
    if (query === undefined) throw new Error("no sender");
    const target = targetsOf(query)["string"] as Target;
    const toScan = (attacks[name] ?? []).map((text) => ({ sender: query, target, text }));
    const refused: Judge = (outcome) => (isRefusal(outcome, INJECTION) ? undefined : JSON.stringify(outcome));
    expect(await volley(arena, toScan, refused)).toEqual([]);
  });
});

test("texts of the author's own list stay text, too", async () => {
  // SQL itself cannot hold a NUL, and a YAML file reads the environment.
  const listed = texts.filter((text) => !text.includes("\0") && !/\$\{|\{env\./.test(text));
  const allowedValues = JSON.stringify(listed).replace(/[^ -~]/g, escaped);
  await using service = await serviceFrom(
    endpoint(
      `SELECT '{{{params.v}}}' AS quoted, $$\{{{params.v}}}$$ AS dollars, 1 AS "{{params.v}}"`,
      `with-pagination: false\nrequest:\n  - field-name: v\n    field-in: query\n    required: true\n    validators: [{ type: enum, allowedValues: ${allowedValues} }]\n`,
    ),
  );
  const wrong: string[] = [];
  for (const text of listed) {
    const body = await (await patiently(() => service.get(`/x?v=${encodeURIComponent(text)}`))).text();
    if (body !== JSON.stringify([{ quoted: text, dollars: text, [text]: 1 }])) wrong.push(`${text}: ${body}`);
  }
  expect(wrong).toEqual([]);
});

/** One escape for each unit, as JSON and YAML both have it. */
function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

test("put into SQL the careless way, most of them change it", async () => {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  const isOneText = async (text: string): Promise<boolean> => {
    const result = await connection.runAndReadAll("SELECT json_serialize_sql($1::VARCHAR)", [`SELECT '${text}' AS v`]);
    const { statements = [] } = JSON.parse(String(result.getRows()[0]?.[0]));
    const [column] = statements[0]?.node?.select_list ?? [];
    return statements.length === 1 && column?.class === "CONSTANT" && column.value?.value === text;
  };
  let changed = 0;
  for (const text of texts) if (!(await isOneText(text))) changed++;
  connection.closeSync();
  instance.closeSync();
  expect(changed).toBeGreaterThan(120);
});
