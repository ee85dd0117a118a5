import type { RanQuery } from "./ran-query.ts";

/** When a call passed which point, in milliseconds of `performance.now()`. What is undefined was not reached, or passed over. */
export interface CallMarks {
  validated: number | undefined;
  /** Its connections are open, and its cache holds rows. */
  prepared: number | undefined;
  rendered: number | undefined;
  /** The database began with it. Passed over by whoever shares the execution of somebody else. */
  entered: number | undefined;
  /** The first rows are there, or the change is committed. */
  firstRow: number | undefined;
  /** What it ran; told only to those who ask. */
  ran: RanQuery | undefined;
  /** Milliseconds spent in the database, the queue included; waiting for a client that reads slowly is not. */
  readonly spentMs: () => number;
}

export function openMarks(spentMs: () => number): CallMarks {
  return {
    validated: undefined,
    prepared: undefined,
    rendered: undefined,
    entered: undefined,
    firstRow: undefined,
    ran: undefined,
    spentMs,
  };
}

/** The parts of a call, one after the other: each ends where the next begins. */
export const phases = ["validate", "prepare", "render", "queue", "first_row", "stream"] as const;
export type Phase = (typeof phases)[number];

/** The point at which each phase ends; the last one ends with the call. */
const ends = ["validated", "prepared", "rendered", "entered", "firstRow"] as const;

/** Tells each phase that a call went through, up to now; the one in which it failed ends with it. */
export function eachPhase(
  { startedAt, marks }: { readonly startedAt: number; readonly marks: CallMarks },
  now: number,
  tell: (phase: Phase, from: number, to: number) => void,
): void {
  let from = startedAt;
  for (const [index, point] of ends.entries()) {
    const at = marks[point];
    const phase = phases[index] ?? "stream";
    if (at !== undefined) {
      tell(phase, from, at);
      from = at;
    } else if (ends.slice(index).every((later) => marks[later] === undefined)) {
      tell(phase, from, now);
      return;
    }
  }
  tell("stream", from, now);
}
