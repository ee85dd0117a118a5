import { expect, test } from "vitest";
import { type CallMarks, eachPhase, openMarks } from "./call-marks.ts";

type Points = Partial<Omit<CallMarks, "spentMs" | "ran">>;

test.each<[string, Points, readonly string[]]>([
  ["a call that failed validation", {}, ["validate 0-100"]],
  [
    "a call that timed out in the queue",
    { validated: 1, prepared: 2, rendered: 4 },
    ["validate 0-1", "prepare 1-2", "render 2-4", "queue 4-100"],
  ],
  [
    "a call that completed",
    { validated: 1, prepared: 2, rendered: 4, entered: 8, firstRow: 16 },
    ["validate 0-1", "prepare 1-2", "render 2-4", "queue 4-8", "first_row 8-16", "stream 16-100"],
  ],
  [
    "a call that shared another call's query",
    { validated: 1, prepared: 2, rendered: 4, firstRow: 16 },
    ["validate 0-1", "prepare 1-2", "render 2-4", "first_row 4-16", "stream 16-100"],
  ],
])("the phases of %s", (_, points, expected) => {
  const reported: string[] = [];
  const marks = { ...openMarks(() => 0), ...points };
  eachPhase({ startedAt: 0, marks }, 100, (phase, from, to) => reported.push(`${phase} ${from}-${to}`));
  expect(reported).toEqual(expected);
});
