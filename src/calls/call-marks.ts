import type { Read } from "../engines/engine.ts";
import type { LoggedQuery } from "./logged-query.ts";

/** When a call reached each point, in milliseconds of `performance.now()`. Undefined if not reached, or skipped. */
export interface CallMarks {
  validated: number | undefined;
  /** The connections are open and the cache holds rows. */
  prepared: number | undefined;
  rendered: number | undefined;
  /** The query started. Skipped by a call that shares another call's query. */
  entered: number | undefined;
  /** The first rows have arrived, or the write is committed. */
  firstRow: number | undefined;
  /** The query, for the logs that show it. */
  query: LoggedQuery | undefined;
  /** Milliseconds spent in the database, including the queue but not waiting for a slow client. */
  readonly spentMs: () => number;
}

export function openMarks(spentMs: () => number): CallMarks {
  return {
    validated: undefined,
    prepared: undefined,
    rendered: undefined,
    entered: undefined,
    firstRow: undefined,
    query: undefined,
    spentMs,
  };
}

/** The consecutive phases of a call. */
export const phases = ["validate", "prepare", "render", "queue", "first_row", "stream"] as const;
export type Phase = (typeof phases)[number];

/** The point at which each phase ends; the last one ends with the call. */
const ends = ["validated", "prepared", "rendered", "entered", "firstRow"] as const;

/** Reports each phase of a call so far. A phase that failed ends with the call. */
export function eachPhase(
  { startedAt, marks }: { readonly startedAt: number; readonly marks: CallMarks },
  now: number,
  onPhase: (phase: Phase, from: number, to: number) => void,
): void {
  let from = startedAt;
  for (const [index, point] of ends.entries()) {
    const at = marks[point];
    const phase = phases[index] ?? "stream";
    if (at !== undefined) {
      onPhase(phase, from, at);
      from = at;
    } else if (ends.slice(index).every((later) => marks[later] === undefined)) {
      onPhase(phase, from, now);
      return;
    }
  }
  onPhase("stream", from, now);
}

/** Marks the statements as rendered. The returned function marks the start of the query. */
export function noteRendered(marks: CallMarks | undefined, ran: () => LoggedQuery): Pick<Read, "onStart"> {
  if (marks === undefined) return {};
  marks.query = ran();
  marks.rendered = performance.now();
  return {
    onStart() {
      marks.entered ??= performance.now();
    },
  };
}
