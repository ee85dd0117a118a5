import { expect, test } from "vitest";
import { type CallMarks, eachPhase, openMarks } from "./call-marks.ts";

type Points = Partial<Omit<CallMarks, "spentMs" | "ran">>;

test.each<[string, Points, readonly string[]]>([
  ["a call that failed before its values were known", {}, ["validate 0-100"]],
  [
    "one that waited in vain for its turn",
    { validated: 1, prepared: 2, rendered: 4 },
    ["validate 0-1", "prepare 1-2", "render 2-4", "queue 4-100"],
  ],
  [
    "one that came to its end",
    { validated: 1, prepared: 2, rendered: 4, entered: 8, firstRow: 16 },
    ["validate 0-1", "prepare 1-2", "render 2-4", "queue 4-8", "first_row 8-16", "stream 16-100"],
  ],
  [
    "one that shared the execution of somebody else",
    { validated: 1, prepared: 2, rendered: 4, firstRow: 16 },
    ["validate 0-1", "prepare 1-2", "render 2-4", "first_row 4-16", "stream 16-100"],
  ],
])("the phases of %s", (_, points, expected) => {
  const told: string[] = [];
  const marks = { ...openMarks(() => 0), ...points };
  eachPhase({ startedAt: 0, marks }, 100, (phase, from, to) => told.push(`${phase} ${from}-${to}`));
  expect(told).toEqual(expected);
});
