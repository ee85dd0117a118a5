import { isDeepStrictEqual } from "node:util";
import type { Arena } from "./arena.ts";
import type { Shot } from "./pairs.ts";
import { briefEcho, echo } from "./places.ts";
import type { Outcome } from "./sender.ts";

/** At the same time: more would wait in the queue of the service. */
const AT_ONCE = 8;

/** Does something with each item, several at a time. */
export async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const item of rest) await work(item);
    }),
  );
}

/** Asks again while the service is too busy. */
export async function patiently(ask: () => Promise<Response>): Promise<Response> {
  for (;;) {
    const answer = await ask();
    if (answer.status !== 503) return answer;
    await answer.arrayBuffer();
  }
}

/** What is wrong with an outcome, or undefined. */
export type Judge = (outcome: Outcome, text: string) => string | undefined;

export const INJECTION = "Potential SQL injection detected";

const show = (outcome: Outcome): string => JSON.stringify(outcome).slice(0, 400);

/** The row came back as it must: the text arrived in every place, unchanged. */
export function arrived(expected: (text: string) => unknown): Judge {
  return (outcome, text) =>
    outcome.kind === "rows" && isDeepStrictEqual(outcome.rows, [expected(text)]) ? undefined : show(outcome);
}

/** As `arrived`, or refused for the shape of the text. */
export function arrivedOrRefused(expected: (text: string) => unknown): Judge {
  const unchanged = arrived(expected);
  return (outcome, text) => (isRefusal(outcome, INJECTION) ? undefined : unchanged(outcome, text));
}

export function isRefusal(outcome: Outcome, message: string): boolean {
  return outcome.kind === "refused" && outcome.errors.length === 1 && outcome.errors[0]?.message === message;
}

/** Sends every text on its way, and tells what went wrong. */
export async function volley(arena: Arena, shots: readonly Shot[], judge: Judge): Promise<readonly string[]> {
  const wrong: string[] = [];
  await inParallel(shots, async ({ sender, target, text: unaimed }) => {
    const text = arena.aim(unaimed);
    const outcome = await sender.send(arena.urls[sender.surface], target, text);
    const problems = arena.leaks(JSON.stringify(outcome)).map((leak) => `got hold of ${leak}`);
    const problem = judge(outcome, text);
    if (problem !== undefined) problems.push(problem);
    wrong.push(...problems.map((what) => `${sender.name}, ${JSON.stringify(text)}: ${what}`));
  });
  return wrong;
}

/** The row of the endpoint with every place. */
export const echoed = echo("").expected;

/** The row of an endpoint with a few places. */
export const brieflyEchoed = briefEcho("").expected;

/** The row of a query that another parser read. */
export const readBySomebodyElse = (text: string): unknown => ({ v: text, part: `<${text}>` });
