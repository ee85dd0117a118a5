import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { measureMemory } from "../heap.ts";
import { tablesOf } from "../markdown.ts";

/** A place where something is kept of what clients send. */
export interface Store {
  /** Rows of the table in docs/operations.md, which together are its bound. */
  readonly rows: readonly string[];
  /** How many entries are more than it may keep. */
  readonly count: number;
  open(): Promise<Filling> | Filling;
}

export interface Filling extends Partial<AsyncDisposable> {
  /** Adds the largest legal input of client `n`; no two are the same. */
  fill(n: number): unknown;
}

export const MIB = 1024 * 1024;
/** Compiled code and the like, which are no part of a store. And a map that has lost as many as it got may grow once. */
const NOISE = MIB;
/** Text of two bytes per character, the most that JavaScript takes, in one piece as a parser would make it. */
export const long = (n: number, length: number): string =>
  Buffer.from(`${n} `.padEnd(length, "ж"), "utf16le").toString("utf16le");
export const address = (n: number): string => `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;

const MEMORY = "Memory that clients can fill";
const page = readFileSync(join(import.meta.dirname, "../../docs/operations.md"), "utf8");
const table = tablesOf(page).find(({ section, header }) => section === MEMORY && header[0] === "Kept");
export const bounds = new Map(
  table?.rows.map(([name = "", bound = ""]) => [name, Number(/^(\d+) MiB/.exec(bound)?.[1])]),
);
/** Rows that `bounded-memory-services.test.ts` fills, with an engine or a service. */
export const FILLED_BY_SERVICES: readonly string[] = [
  "totals of paginated reads",
  "facts about SQL texts",
  "prepared statements",
  "calls in the result cache",
  "requests of open MCP streams",
  "messages of MCP tasks that wait or run",
];

/** One test for each store: filled with more than it may keep, it stays within its bound. */
export function testThatMemoryLevelsOff(stores: readonly Store[]): void {
  test.each(stores.map((store) => [store.rows.join(", "), store] as const))(
    "memory levels off: %s",
    async (_, { rows, count, open }) => {
      const bound = rows.reduce((sum, row) => sum + (bounds.get(row) ?? Number.NaN), 0) * MIB;
      await using filling = { [Symbol.asyncDispose]: async () => {}, ...(await open()) };
      // What the first ones load and compile is not what they leave.
      for (let n = 0; n < 2; n++) await filling.fill(n);
      const before = await measureMemory();
      const fillAndMeasure = async (from: number, to: number): Promise<number> => {
        for (let n = from; n < to; n++) await filling.fill(n);
        return (await measureMemory()) - before;
      };
      const first = await fillAndMeasure(2, 2 + count);
      // Kept as well, it would be half as much again.
      const second = await fillAndMeasure(2 + count, 2 + count * 1.5);
      // It really is filled.
      expect(first).toBeGreaterThan(bound / 8);
      expect(first).toBeLessThan(bound + NOISE);
      expect(second).toBeLessThan(bound + NOISE);
      expect(second - first).toBeLessThan(bound / 8 + NOISE / 2);
    },
  );
}
